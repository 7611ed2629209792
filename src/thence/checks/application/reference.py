"""Reference periods: the frames on which bins are fitted of sensors that a run has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TypeGuard

import numpy as np
import numpy.typing as npt

from thence.data.readings.sensors import as_utc
from thence.errors import ConfigError

_HINT = "pass a period such as reference='2024-01-01/2024-02-01', or a share of the frames such as reference=0.5"
_TWO = 2


def reference_frames(
    reference: str | float | Sequence[str | datetime], times: npt.NDArray[np.datetime64]
) -> npt.NDArray[np.bool_]:
    """Return which frames belong to a reference period.

    Args:
        reference: A period as text with a slash between its start and its end, the two as a pair, or the share of the
            frames, from the first on. Either end of a period may be empty.
        times: Start of each frame.

    Raises:
        ConfigError: If it is none of these, or no frame lies in it.

    Examples:
        >>> times = np.array(["2024-01-01", "2024-01-02", "2024-01-03"], "datetime64[us]")
        >>> reference_frames("2024-01-02/", times).tolist()
        [False, True, True]
        >>> reference_frames(0.4, times).tolist()
        [True, False, False]
    """
    share = _as_share(reference)
    if share is not None:
        frames = np.arange(len(times)) < max(round(share * len(times)), 1)
        return np.asarray(frames)
    ends = reference.split("/") if isinstance(reference, str) else list(reference) if _is_pair(reference) else []
    if len(ends) != _TWO or not any(ends):
        raise ConfigError(f"reference must be a period or a share, got {reference!r}", hint=_HINT)
    frames = np.ones(len(times), bool)
    start, end = ((np.datetime64(as_utc(one).replace(tzinfo=None), "us") if one else None) for one in ends)
    if start is not None and end is not None and not start < end:
        raise ConfigError(f"the reference period ends before it starts: {reference!r}", hint=_HINT)
    if start is not None:
        frames &= times >= start
    if end is not None:
        frames &= times < end
    if len(times) and not frames.any():
        raise ConfigError(
            f"no readings lie in the reference period {reference!r}",
            hint=f"the data are from {times[0].astype('datetime64[m]')} to {times[-1].astype('datetime64[m]')} (UTC)",
        )
    return frames


def _is_pair(reference: object) -> TypeGuard[Sequence[str | datetime]]:
    return isinstance(reference, Sequence)


def _as_share(reference: object) -> float | None:
    """The share of the frames, if a reference is one; a share in text is a number too."""
    if isinstance(reference, str):
        try:
            reference = float(reference)
        except ValueError:
            return None
    if isinstance(reference, bool) or not isinstance(reference, (int, float)):
        return None
    if not 0 < reference <= 1:
        raise ConfigError(f"a reference share must be above 0 and at most 1, got {reference!r}", hint=_HINT)
    return float(reference)
