"""Sizes of memory: read and written as text, and how much of it this process may use.

The memory that is available is that of the machine, or of the control group that this process runs in (a container,
a batch job) if that is less.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from thence.errors import ConfigError

__all__ = ["LEAST", "available_memory", "default_limit", "format_size", "parse_size"]

LEAST = 1 << 30
"""The smallest limit: the interpreter, compiled kernels and one block of readings need about half of it."""
SHARE = 0.8
"""Share of the available memory that a run uses if it is not told how much."""

_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([KMGT])(i?)B?|B)", re.IGNORECASE)
_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")
_MACHINE = Path("/proc/meminfo")
# Limits above this mean that there is none.
_NO_LIMIT = 1 << 60


def parse_size(size: str | int) -> int:
    """Return a size in bytes.

    Args:
        size: Bytes, or a text such as ``"12GiB"``, ``"12GB"`` or ``"1.5TiB"``. ``"12G"`` means ``"12GiB"``.

    Raises:
        ConfigError: If the text is not a size, or the size is below ``LEAST``.

    Examples:
        >>> parse_size("12GiB") == 12 * 2**30, parse_size("12GB") == 12 * 10**9
        (True, True)
        >>> parse_size("12 parsecs")
        Traceback (most recent call last):
        thence.errors.ConfigError: memory_limit must be a size, got '12 parsecs' (write it as '12GiB' or '800MB')
    """
    found = _read(size)
    if found is None:
        raise ConfigError(f"memory_limit must be a size, got {size!r}", hint="write it as '12GiB' or '800MB'")
    if found < LEAST:
        raise ConfigError(
            f"memory_limit must be at least {format_size(LEAST)}, got {size!r}", hint="leave it out for the default"
        )
    return found


def _read(size: Any) -> int | None:
    if isinstance(size, int) and not isinstance(size, bool):
        return size
    match = _SIZE.fullmatch(size.strip()) if isinstance(size, str) else None
    if match is None:
        return None
    number, letter, binary = match.groups()
    plain = not (match[0].upper().endswith("B") and not binary)
    return int(float(number) * (1024 if plain else 1000) ** _POWERS[(letter or "").upper()])


def format_size(size: float) -> str:
    """Return a size as text.

    Examples:
        >>> format_size(12 * 2**30), format_size(1.5 * 2**30), format_size(300 * 2**20)
        ('12 GiB', '1.5 GiB', '300 MiB')
    """
    if size >= 1 << 30:
        return f"{size / 2**30:.1f}".removesuffix(".0") + " GiB"
    return f"{size / 2**20:.0f} MiB"


def default_limit() -> int:
    """Return the memory that a run uses if it is not told how much: a share of what is available, at least ``LEAST``.

    Examples:
        >>> default_limit() >= LEAST
        True
    """
    return max(LEAST, int(SHARE * available_memory()))


def available_memory() -> int:
    """Return the bytes that this process can use without anything being killed or swapped.

    Examples:
        >>> available_memory() > 0
        True
    """
    free = _machine_memory()
    return min([free, *_group_room()])


def _machine_memory() -> int:
    try:
        for line in _MACHINE.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 4 * LEAST


def _group_room() -> list[int]:
    """What is left in the control groups of this process, in version 1 and in version 2."""
    out = []
    try:
        lines = _OWN_GROUPS.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root, names = _GROUPS, ("memory.max", "memory.current", "inactive_file")
        if controllers:
            root, names = _GROUPS / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        # In a container the path may be that of the host, and the own group is the root.
        for group in dict.fromkeys((root / path.lstrip("/"), root)):
            limit, used = _number(group / names[0]), _number(group / names[1])
            if limit is not None and used is not None and limit < _NO_LIMIT:
                out.append(max(0, limit - used + _cached(group / "memory.stat", names[2])))
    return out


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _cached(file: Path, name: str) -> int:
    """Bytes of files that the group holds and the system drops when memory is needed."""
    try:
        for line in file.read_text(encoding="ascii").splitlines():
            if line.startswith(f"{name} "):
                return int(line.split()[1])
    except (OSError, ValueError):
        pass
    return 0
