"""Files that publishers of data sets provide: their names, sizes, checksums and addresses, declared once per data set.

``folders.py`` searches for the files and ``fetch.py`` downloads them. This module only compares a file on disk with
what is declared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from thence._base.integrity.checksums import file_digest


@dataclass(frozen=True)
class Archive:
    """A zip archive of a publisher. It is removed after the files that are needed have been taken out.

    Args:
        name: The name of the file.
        urls: Its addresses, tried in order.
    """

    name: str
    urls: tuple[str, ...]


@dataclass(frozen=True)
class Remote:
    """A file of a publisher.

    Args:
        name: The path in the folder of the data set.
        size: The size in bytes; 0 if it is not known.
        sha256: The checksum.
        urls: Its addresses, tried in order.
        archive: An archive that contains it, tried last. Its members are searched by their base name.
        newlines: Whether line ends are converted to ``\\n`` before the checksum is compared.
        make: Writes the file from the archive, for a table that is made from many members.
        digest: Returns the checksum of a file.
    """

    name: str
    size: int
    sha256: str
    urls: tuple[str, ...] = ()
    archive: Archive | None = None
    newlines: bool = False
    make: Callable[[ZipFile, Path], None] | None = None
    digest: Callable[[Path], str] = file_digest

    def has_size(self, path: Path) -> bool:
        """Return whether there is a file of the declared size; its content is not read."""
        try:
            size = path.stat().st_size
        except OSError:
            return False
        # A copy with other line ends is larger.
        return size >= self.size if self.newlines or not self.size else size == self.size

    def is_intact(self, path: Path) -> bool:
        """Return whether there is a file with the declared checksum; its content is read."""
        return self.has_size(path) and self.digest(path) == self.sha256


@dataclass(frozen=True)
class Published:
    """The files of one publication.

    Args:
        folder: The name of the folder that contains them.
        files: The files.
        publisher: Who publishes them, for messages.
        page: The address of a page for people.
        licence: The licence.
        citation: What to cite.
    """

    folder: str
    files: tuple[Remote, ...]
    publisher: str
    page: str
    licence: str
    citation: str

    def select(self, names: Iterable[str]) -> tuple[Remote, ...]:
        """Return the files of these names."""
        wanted = set(names)
        return tuple(file for file in self.files if file.name in wanted)

    def describe(self) -> dict[str, Any]:
        """All that is declared, ready for JSON."""
        files = [
            {
                "name": file.name,
                "size": file.size or None,
                "sha256": file.sha256,
                "urls": [*file.urls, *(file.archive.urls if file.archive else ())],
            }
            for file in self.files
        ]
        return {
            "folder": self.folder,
            "publisher": self.publisher,
            "page": self.page,
            "licence": self.licence,
            "citation": self.citation,
            "files": files,
        }


def show_size(size: float) -> str:
    """Return a number of bytes as text.

    Args:
        size: The size; 0 if it is not known.

    Examples:
        >>> show_size(1_733_505), show_size(4_822), show_size(0)
        ('1.7 MB', '5 kB', 'size unknown')
    """
    if not size:
        return "size unknown"
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{max(size / 1e3, 1):.0f} kB"
