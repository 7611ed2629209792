"""Large text files: copied block by block to a temporary Parquet file that is scanned, so they need not fit in memory.

Types are those that fit every block: if a later block has text where earlier ones had numbers, the copy begins anew
with text. The temporary file is removed when the process ends. How a block is read is decided in ``.text``.
"""

from __future__ import annotations

import atexit
import codecs
import gzip
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import polars as pl

from thence.errors import InputError

__all__ = ["LARGE", "Block", "copy_blocks", "iter_blocks", "starts_large"]

LARGE = 512 << 20
"""Bytes of text, after decompression, beyond which a file is not read into memory."""
BLOCK_BYTES = 32 << 20
LONGEST_LINE = 128 << 20
MOST_BLANK = 512 << 20
LARGEST_RATIO = 1_032  # of what deflate compresses

Block = tuple[bytes, int]
"""Whole lines of a text in UTF-8, and the number of the first of them in the file, from 1."""


def starts_large(path: Path) -> bool:
    """Return whether a text file is so large that it should not be read into memory.

    Args:
        path: The file; what a ``.gz`` file holds counts, not its own size.
    """
    if path.suffix.lower() != ".gz":
        return path.stat().st_size > LARGE
    if path.stat().st_size * LARGEST_RATIO <= LARGE:
        return False
    with gzip.open(path) as stream:
        size = 0
        while chunk := stream.read(1 << 20):
            size += len(chunk)
            if size > LARGE:
                return True
    return False


def iter_blocks(path: Path, encoding: str | None) -> Iterator[Block]:
    """Yield a text file in blocks of whole lines, without the blank lines at its start.

    Args:
        path: The file, compressed if its suffix is ``.gz``.
        encoding: Its encoding; by default UTF-8, or UTF-16 with a byte order mark.

    Raises:
        InputError: If it cannot be decoded or decompressed, or a line is too long.
    """
    held, line, skipped, begun = b"", 1, 0, False
    for text in _iter_utf8(path, encoding):
        if not begun:
            rest = text.lstrip(b"\r\n")
            blank = len(text) - len(rest)
            line, skipped = line + text.count(b"\n", 0, blank), skipped + blank
            if skipped > MOST_BLANK:
                raise InputError(
                    f"more than {MOST_BLANK >> 20} MiB of blank lines before the first line with text",
                    where=str(path),
                    hint="check that it is the right file",
                )
            begun, text = bool(rest), rest
        held += text
        stop = _last_end(held)
        if len(held) - stop > LONGEST_LINE:
            raise InputError(
                f"a line or a quoted cell has more than {LONGEST_LINE >> 20} MiB",
                where=f"{path}, line {line + held.count(bytes([10]), 0, stop)}",
                hint="check that every quote is closed, and that lines end with a line feed",
            )
        if stop and len(held) >= BLOCK_BYTES:
            yield held[:stop], line
            line += held.count(b"\n", 0, stop)
            held = held[stop:]
    if held:
        yield held, line


def _iter_utf8(path: Path, encoding: str | None) -> Iterator[bytes]:
    """Yield the text of a file as UTF-8 in pieces that end anywhere."""
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
        try:
            first = stream.read(BLOCK_BYTES)
            if encoding is None and first[:2] in (b"\xff\xfe", b"\xfe\xff"):
                encoding = "utf-16"
            decoder = codecs.getincrementaldecoder(encoding or "utf-8-sig")()
            chunk = first
            while chunk:
                yield decoder.decode(chunk).encode()
                chunk = stream.read(BLOCK_BYTES)
            yield decoder.decode(b"", final=True).encode()
        except UnicodeDecodeError as error:
            raise InputError(
                f"cannot be decoded as {encoding or 'UTF-8'}: {error.reason}",
                where=str(path),
                hint="pass encoding=, for example 'cp1252'",
            ) from error
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(
                f"incomplete gzip file: {error}", where=str(path), hint="it may be truncated; copy or write it again"
            ) from error


def _last_end(text: bytes) -> int:
    """Return the position after the last line end that is not in quotes; the text begins outside of quotes."""
    if b'"' not in text:
        return text.rfind(b"\n") + 1
    signs = np.frombuffer(text, dtype=np.uint8)
    outside = (np.cumsum(signs == ord('"'), dtype=np.uint8) & 1) == 0
    ends = np.flatnonzero((signs == ord("\n")) & outside)
    return int(ends[-1]) + 1 if ends.size else 0


def copy_blocks(read: Callable[[Mapping[str, pl.DataType]], Iterator[pl.DataFrame]], *, where: str) -> pl.LazyFrame:
    """Copy frames to a temporary Parquet file, and return it as a lazy frame.

    Args:
        read: Returns the frames, given the types of columns that are known; it is called again if types turn out to be
            others.
        where: Name of the file, for messages.

    Raises:
        InputError: If the disk is full.
    """
    folder = Path(tempfile.mkdtemp(prefix="thence-text-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    target = folder / "rows.parquet"
    try:
        types = _try_copy(read({}), {}, target)
        if types is not None:
            _try_copy(read(types), types, target)
    except OSError as error:
        raise InputError(
            f"the temporary copy of this file cannot be written: {error.strerror or error}",
            where=where,
            hint="free some space, or set TMPDIR to another folder",
        ) from error
    return pl.scan_parquet(target, glob=False)


def _try_copy(
    frames: Iterator[pl.DataFrame], known: Mapping[str, pl.DataType], target: Path
) -> dict[str, pl.DataType] | None:
    """Write frames; return the types that fit all of them, if those of the first frame do not."""
    import pyarrow.parquet

    writer, fits = None, True
    types = dict(known)
    try:
        for frame in frames:
            wider = {name: _widen(types.get(name, pl.Null()), frame[name]) for name in frame.columns}
            fits = fits and (writer is None or wider == types)
            types = wider
            if fits:  # otherwise the other frames are looked at, so that the copy begins anew only once
                table = frame.cast({name: _stored(dtype) for name, dtype in types.items()}).to_arrow()
                writer = writer or pyarrow.parquet.ParquetWriter(target, table.schema, compression="lz4")
                writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()
    return None if fits else types


def _widen(known: pl.DataType, column: pl.Series) -> pl.DataType:
    """Return the type that holds what is known of a column and its cells; truth values and numbers are text."""
    if column.null_count() == column.len() or column.dtype == known:
        return known
    if known == pl.Null:
        return column.dtype if column.dtype in (pl.Boolean, pl.Int64, pl.Float64) else pl.String()
    if {known, column.dtype} <= {pl.Int64(), pl.Float64()}:
        return pl.Float64()
    return pl.String()


def _stored(dtype: pl.DataType) -> pl.DataType:
    return pl.String() if dtype == pl.Null else dtype
