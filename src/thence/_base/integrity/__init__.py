"""Integrity: checksums of everything that Thence writes and reads again, and the check of folders and files.

Examples:
    >>> import tempfile, thence as th
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = th.mine(th.datasets.load("toy"), windows="1h", bins=3, out=f"{folder}/run", progress="off")
    ...     th.integrity.verify(run.path).ok
    True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from thence._base.lazy import lazy_names

if TYPE_CHECKING:
    from thence._base.integrity.verification import Verification as Verification
    from thence._base.integrity.verification import verify as verify

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_base.integrity.verification": ("Verification", "verify"),
    },
)
