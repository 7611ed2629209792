"""Access to torch: a check that it is installed, the choice of a device, its threads and its precision.

torch is an optional dependency (extras ``aerial`` and ``baselines``). Miners that need it call ``require_torch`` when
they start to work and import torch inside their functions or in modules that they import afterwards, so that everything
else starts fast and runs without it. Importing this module must not import torch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from thence.errors import ConfigError, require

if TYPE_CHECKING:
    import torch


def require_torch(*, extra: str, also: tuple[str, ...] = ()) -> None:
    """Check that torch can be imported.

    Args:
        extra: The extra of the package that installs torch for the caller, such as ``"aerial"``.
        also: Further modules that the caller needs from the same extra.

    Raises:
        MissingExtraError: If torch or one of the other modules cannot be imported. The hint names the extra.
    """
    for module in ("torch", *also):
        require(module, extra=extra)


def require_device(name: object) -> None:
    """Raise ``ConfigError`` unless ``name`` names a CPU or CUDA device; whether it exists is checked on use."""
    if not isinstance(name, str) or not re.fullmatch(r"cpu(:0)?|cuda(:\d+)?", name):
        raise ConfigError(f"unknown device {name!r}", hint="use 'cpu' or 'cuda'")


def is_on_cpu(name: str) -> bool:
    """Return whether a device that was checked is the CPU."""
    return name.startswith("cpu")


def find_device(name: str) -> torch.device:
    """Return the device with this name, or raise ``ConfigError`` if it does not exist."""
    import torch

    require_device(name)
    device = torch.device(name)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError("no CUDA device is available", hint="use device='cpu'")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ConfigError(
            f"no such device '{name}': there are {torch.cuda.device_count()} CUDA devices", hint="use 'cuda'"
        )
    return device


@contextmanager
def one_thread(enabled: bool = True) -> Iterator[None]:
    """Limit torch to one thread inside the context.

    Small layers gain nothing from more threads. Threads of torch spin while they wait for each other, which on a busy
    machine costs ten times as much as the work itself. Without torch, the context does nothing.

    Args:
        enabled: Whether to set the limit at all.
    """
    if not enabled or not _has_torch():
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def product_precision(bits: Literal["highest", "high"]) -> Iterator[None]:
    """Compute matrix products in this precision inside the context, whatever the global setting is.

    Args:
        bits: ``"highest"`` for true float32, ``"high"`` for factors of 11 bits where a processor has units for them.
    """
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(bits)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _has_torch() -> bool:
    """Whether torch is installed; a module that is set to ``None`` counts as missing."""
    try:
        return find_spec("torch") is not None
    except ValueError:
        return False
