"""The bitmaps of a block, stored once per series, however many embeddings read it.

``words[row]`` is a bitmap over time frames. Row 0 is empty and row 1 is full, so that static and missing values need no
special case. ``row_of[item, embedding]`` is the row that an embedding reads for an item, ``present_of[column,
embedding]`` the row with the frames in which a column is not missing. Memory grows with sensors × bins × frames, never
with embeddings × frames.

Embeddings may belong to several *sites*, each with its own number of frames. The frame axis is then as long as that of
the longest site, and every bitmap that an embedding reads is empty after the frames of its site. This module works on
plain arrays and counts nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from thence._base.memory import Workspace, in_memory
from thence.tables.bitmaps.bits import Words, as_kernel_array, full_mask, kernel, n_words, pack_codes

NOWHERE, EVERYWHERE = 0, 1

Rows = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Bank:
    """Bitmaps over frames, and which of them each embedding reads.

    Args:
        words: One bitmap per row; row 0 is empty, row 1 is full.
        row_of: Matrix (items × embeddings) of rows of ``words``.
        present_of: Matrix (columns × embeddings) of rows of ``words``.
        column_of_item: The column of each item.
        n_frames: Number of frames; of several sites, that of the longest.
        site_of: The site of each embedding; ``None`` if there is one site.
        site_frames: Number of frames of each site, if there are several.
        workspace: Where large arrays lie; by default in memory.
    """

    words: Words
    row_of: Rows
    present_of: Rows
    column_of_item: Rows
    n_frames: int
    site_of: Rows | None = None
    site_frames: tuple[int, ...] = ()
    workspace: Workspace = field(default_factory=in_memory)

    @property
    def n_embeddings(self) -> int:
        """Number of embeddings."""
        return int(self.row_of.shape[1])

    @property
    def n_rows(self) -> int:
        """Number of rows of the table: the frames of every embedding."""
        return int(self.frames_of.sum())

    @property
    def frames_of(self) -> npt.NDArray[np.int64]:
        """Number of frames of each embedding."""
        if self.site_of is None:
            return np.full(self.n_embeddings, self.n_frames, np.int64)
        return np.asarray(self.site_frames, np.int64)[self.site_of]

    @property
    def is_complete(self) -> bool:
        """Whether no value is missing."""
        return bool((self.present_of == EVERYWHERE).all())

    def with_unions(self, unions: Sequence[tuple[int, Sequence[int]]]) -> Bank:
        """Add items, each given as a column and the items of that column to join (possibly none)."""
        if not unions:
            return self
        rows, joins, height = [self.row_of], [], len(self.words)
        for _, members in unions:
            read = self.row_of[list(members)].T.reshape(self.n_embeddings, -1)
            keys, place = np.unique(read, axis=0, return_inverse=True)
            joins.append(keys)
            rows.append((height + place.reshape(-1)).astype(np.int32)[None, :])
            height += len(keys)
        # Banks are large: joined bitmaps are written where they stay.
        words = self.workspace.empty((height, self.words.shape[1]), np.uint64, stage="joining bins")
        words[: len(self.words)] = self.words
        at = len(self.words)
        for keys in joins:
            joined = words[at : at + len(keys)]
            joined[:] = 0
            for member in keys.T:
                joined |= self.words[member]
            at += len(keys)
        columns = np.array([column for column, _ in unions], np.int32)
        return replace(
            self,
            words=words,
            row_of=np.concatenate(rows),
            column_of_item=np.concatenate([self.column_of_item, columns]),
        )

    def with_joints(self, joints: Sequence[Sequence[int]]) -> Bank:
        """Add items, each of which holds where several items hold, with a column each that is present where theirs are.

        Examples:
            >>> codes = [np.array([[0, 0, 1]], np.int16), np.array([[1, 0, -1]], np.int16)]
            >>> bank = build_bank([(own, np.zeros(1, np.int32), 2) for own in codes], n_frames=3, n_embeddings=1)
            >>> joined = bank.with_joints([[0, 2]])
            >>> [f"{int(joined.words[row, 0]):03b}" for row in (joined.row_of[-1, 0], joined.present_of[-1, 0])]
            ['010', '011']
        """
        if not joints:
            return self
        wanted = [self.row_of[list(members)].T for members in joints]
        wanted += [self.present_of[self.column_of_item[list(members)]].T for members in joints]
        rows, keys, height = [], [], len(self.words)
        for read in wanted:
            distinct, place = np.unique(read, axis=0, return_inverse=True)
            rows.append((height + place.reshape(-1)).astype(np.int32)[None, :])
            keys.append(distinct)
            height += len(distinct)
        words = self.workspace.empty((height, self.words.shape[1]), np.uint64, stage="joining items")
        words[: len(self.words)] = self.words
        joined = [np.bitwise_and.reduce(self.words[one], axis=1) for one in keys]
        words[len(self.words) :] = np.concatenate(joined)
        columns = len(self.present_of) + np.arange(len(joints), dtype=np.int32)
        return replace(
            self,
            words=words,
            row_of=np.concatenate([self.row_of, *rows[: len(joints)]]),
            present_of=np.concatenate([self.present_of, *rows[len(joints) :]]),
            column_of_item=np.concatenate([self.column_of_item, columns]),
        )

    def sites(self) -> list[Bank]:
        """Return one bank per site, each with the embeddings and frames of the site only.

        Examples:
            >>> codes = np.array([[0, 1, 0], [1, -1, -1]], np.int16)
            >>> of = np.array([0, 1], np.int32)
            >>> bank = build_bank([(codes, of, 2)], n_frames=3, n_embeddings=2, site_of=of, site_frames=(3, 1))
            >>> [(site.n_frames, site.n_embeddings, site.is_complete) for site in bank.sites()]
            [(3, 1, True), (1, 1, True)]
        """
        if self.site_of is None:
            return [self]
        out = []
        for number, n_frames in enumerate(self.site_frames):
            own = self.site_of == number
            site = replace(
                self, row_of=self.row_of[:, own], present_of=self.present_of[:, own], site_of=None, site_frames=()
            ).slice_frames(0, n_frames)
            # A column without gaps in the frames of the site is complete there.
            rows, place = np.unique(site.present_of, return_inverse=True)
            known = np.where(_has_gaps(site.words[rows], full_mask(n_frames)), rows, EVERYWHERE)
            present = known[place.reshape(site.present_of.shape)].astype(np.int32)
            out.append(replace(site, present_of=present))
        return out

    def slice_frames(self, start: int, stop: int) -> Bank:
        """Return the bank of the frames from ``start`` up to, but not including, ``stop``.

        Examples:
            >>> codes = np.array([[0, 1, 0]], np.int16)
            >>> bank = build_bank([(codes, np.zeros(1, np.int32), 2)], n_frames=3, n_embeddings=1).slice_frames(1, 3)
            >>> [f"{int(bank.words[row, 0]):02b}" for row in bank.row_of[:, 0]], bank.n_frames
            (['10', '01'], 2)
        """
        n_frames = stop - start
        width, first, shift = n_words(n_frames), start // 64, np.uint64(start % 64)
        words = self.words[:, first : first + width] >> shift
        if shift:
            after = self.words[:, first + 1 : first + 1 + width]
            words[:, : after.shape[1]] |= after << (np.uint64(64) - shift)
        words &= full_mask(n_frames)
        left = tuple(min(max(frames - start, 0), n_frames) for frames in self.site_frames)
        return replace(self, words=words, n_frames=n_frames, site_frames=left)

    def flat(self, embeddings: slice = slice(None)) -> tuple[Words, Words | None, int]:
        """Write out the bitmaps over the frames of all embeddings, one embedding after the other.

        Args:
            embeddings: The embeddings to write out; all by default.

        Returns:
            One bitmap per item, one bitmap per column of the rows in which it is present (``None`` if no value is
            missing), and the number of rows.
        """
        rows, present = self.row_of[:, embeddings], self.present_of[:, embeddings]
        starts = np.concatenate([[0], np.cumsum(self.frames_of[embeddings])]).astype(np.int64)
        # Where sites differ in length, even a column without gaps has padding after the frames of a site.
        complete = (present == EVERYWHERE).all() or self._is_known_everywhere(present, self.frames_of[embeddings])
        return self._join(rows, starts), None if complete else self._join(present, starts), int(starts[-1])

    def _is_known_everywhere(self, present: Rows, frames_of: npt.NDArray[np.int64]) -> bool:
        if self.site_of is None:
            return False
        ones = np.bitwise_count(self.words).sum(axis=1, dtype=np.int64)
        return bool((ones[present] == frames_of).all())

    def _join(self, rows: Rows, starts: npt.NDArray[np.int64]) -> Words:
        if rows.shape[1] == 1:
            own, width = rows[:, 0], n_words(int(starts[-1]))
            if len(own) and (np.diff(own) == 1).all() and width == self.words.shape[1]:
                return self.words[own[0] : own[-1] + 1]
            return self.words[own, :width]
        shape = (rows.shape[0], n_words(int(starts[-1])))
        out = self.workspace.zeros(shape, np.uint64, stage=f"bitmaps of {shape[0]:,} items × {int(starts[-1]):,} rows")
        _concatenate(
            as_kernel_array(self.words, np.uint64),
            as_kernel_array(rows, np.int32),
            as_kernel_array(starts, np.int64),
            out,
        )
        return out


@kernel
def _concatenate(words: Words, rows: Rows, starts: npt.NDArray[np.int64], out: Words) -> None:
    """Join the bitmaps of successive embeddings, which may start at any bit of a word."""
    for item in range(rows.shape[0]):
        for embedding in range(rows.shape[1]):
            row = rows[item, embedding]
            if row == 0:
                continue
            start = starts[embedding]
            width = (starts[embedding + 1] - start + 63) // 64
            word = start // 64
            shift = np.uint64(start % 64)
            for at in range(width):
                value = words[row, at]
                out[item, word + at] |= value << shift
                if shift != 0 and word + at + 1 < out.shape[1]:
                    out[item, word + at + 1] |= value >> (np.uint64(64) - shift)


def build_bank(
    columns: Sequence[tuple[npt.NDArray[np.int16], npt.NDArray[np.int32], int]],
    *,
    n_frames: int,
    n_embeddings: int,
    site_of: Rows | None = None,
    site_frames: tuple[int, ...] = (),
    workspace: Workspace | None = None,
) -> Bank:
    """Build the bank of some columns.

    Args:
        columns: Codes (series × frames), the series that each embedding reads, and the number of codes of each column,
            as in ``Column``. Columns with the same array of codes share its bitmaps.
        n_frames: Number of frames.
        n_embeddings: Number of embeddings.
        site_of: The site of each embedding, if there are several. Codes after the frames of a site must be −1.
        site_frames: Number of frames of each site.
        workspace: Where large arrays lie; by default in memory.

    Examples:
        >>> codes = np.array([[0, 1, 0]], np.int16)
        >>> bank = build_bank([(codes, np.zeros(1, np.int32), 2)], n_frames=3, n_embeddings=1)
        >>> [f"{int(bank.words[row, 0]):03b}" for row in bank.row_of[:, 0]]
        ['101', '010']
    """
    width = n_words(n_frames)
    special = np.zeros((2 + len(site_frames), width), np.uint64)
    special[EVERYWHERE] = full_mask(n_frames)
    for site, frames in enumerate(site_frames):
        special[2 + site, : n_words(frames)] = full_mask(frames)
    always = np.full(n_embeddings, EVERYWHERE, np.int32)
    if site_of is not None:
        shorter = np.array([2 + site if frames < n_frames else EVERYWHERE for site, frames in enumerate(site_frames)])
        always = shorter[site_of].astype(np.int32)
    space = workspace or in_memory()
    distinct = {(id(codes), n_codes): codes for codes, _, n_codes in columns if codes.shape[1] != 1 or n_frames == 1}
    # Room for bitmaps of what is present; that after the last one is never touched.
    most = len(special) + sum(len(codes) * (n_codes + 1) for (_, n_codes), codes in distinct.items())
    words: Words = space.zeros((most, width), np.uint64, stage=f"bitmaps over {n_frames:,} frames")
    words[: len(special)] = special
    height = len(special)
    packed: dict[tuple[int, int], tuple[int, Rows]] = {}
    row_of, present_of, owner = [], [], []
    for at, (codes, series, n_codes) in enumerate(columns):
        series = np.broadcast_to(np.asarray(series, np.int32), (n_embeddings,))
        if codes.shape[1] == 1 and n_frames != 1:
            items, known = _static_rows(codes[:, 0], series, n_codes, always)
        else:
            key = (id(codes), n_codes)
            if key not in packed:
                first, present_rows = height, np.full(codes.shape[0], EVERYWHERE, np.int32)
                height += codes.shape[0] * n_codes
                sizes = np.full(codes.shape[0], n_codes)
                _, present = pack_codes(codes.T, cardinalities=sizes, out=words[first:height])
                if present is not None:
                    present_rows = np.arange(height, height + len(present), dtype=np.int32)
                    gaps = _has_gaps(present, special[EVERYWHERE])
                    present_rows[~gaps] = EVERYWHERE
                    words[height : height + len(present)] = present
                    height += len(present)
                packed[key] = first, present_rows
            first, present_rows = packed[key]
            safe = np.maximum(series, 0)
            items = first + safe[None, :] * n_codes + np.arange(n_codes, dtype=np.int32)[:, None]
            items = np.where(series[None, :] < 0, NOWHERE, items)
            known = np.where(series < 0, NOWHERE, present_rows[safe])
        row_of.append(items.astype(np.int32))
        present_of.append(known.astype(np.int32))
        owner.append(np.full(n_codes, at, np.int32))
    empty_rows = np.zeros((0, n_embeddings), np.int32)
    return Bank(
        words[:height],
        np.concatenate(row_of) if row_of else empty_rows,
        np.stack(present_of) if present_of else empty_rows,
        np.concatenate(owner) if owner else np.zeros(0, np.int32),
        n_frames,
        site_of,
        site_frames,
        space,
    )


def _has_gaps(present: Words, full: Words) -> npt.NDArray[np.bool_]:
    return np.asarray((present != full).any(axis=1))


def _static_rows(codes: npt.NDArray[Any], series: Rows, n_codes: int, always: Rows) -> tuple[Rows, Rows]:
    """Return the rows of a column that does not depend on time; ``always`` is the row of all frames by embedding."""
    own = np.where(series < 0, -1, codes[np.maximum(series, 0)])
    items = np.where(own[None, :] == np.arange(n_codes)[:, None], always, NOWHERE)
    return items.astype(np.int32), np.where(own < 0, NOWHERE, always).astype(np.int32)
