"""Transaction tables: rows × features as small-integer codes, and the feature table before discretization.

A table has one block of rows, or several blocks with their own rows: one per graph pattern. One type serves all
enrichments.

This module holds, saves and loads data; it does not fit bins, enrich or count.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thence._base.atomic import new_file
from thence._base.display.html import Html, code, counted, folded, join, listed, notes, pairs, panel, table
from thence._base.integrity.arrays import dump_arrays, load_arrays
from thence.data.graph.knowledge_graph import KnowledgeGraph
from thence.errors import ConfigError, InputError, MiningError, RunError, ThenceError, nearest, quote
from thence.language.items import Aspect, Feature, Interval, Item, Role, Value
from thence.language.patterns import Pattern
from thence.tables.blocks import Block, Codes, Column, Indices, SiteFrames, as_codes
from thence.tables.discretization import FINE_BINS, Discretizer, is_supervised
from thence.tables.frames import read_columns, split_times
from thence.tables.matching import column_of
from thence.tables.targets import classes_by_key, find_targets, number_states

if TYPE_CHECKING:
    import polars as pl


FORMAT = 1
_FOREIGN = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError)
_MOST_SHOWN = 20  # patterns in a notebook


@dataclass(frozen=True, eq=False)
class TransactionTable:
    """The input of miners: one block of rows, or several blocks with their own rows (one per graph pattern).

    Args:
        blocks: The blocks.
        enrichment: Name of the enrichment that built the table.
        discretizer: The fitted discretizer.
        notes: Remarks on how the table was built, for people.
        finer: Builds the same table with finer bins, so that ``refine`` can sharpen the ranges of rules; ``None`` if
            the numbers behind the bins are not available.

    Examples:
        >>> import polars as pl
        >>> df = pl.DataFrame({"flow": [1.0, 2.0, 3.0, 4.0], "door": ["open", "shut", None, "open"]})
        >>> table = TransactionTable.from_frame(df, bins=2)
        >>> table.n_rows, table.n_features, table.n_items
        (4, 2, 4)
        >>> table.codes.tolist()
        [[0, 0], [0, 1], [1, -1], [1, 0]]
    """

    blocks: tuple[Block, ...]
    enrichment: str = "none"
    discretizer: Discretizer = field(default_factory=Discretizer)
    notes: tuple[str, ...] = ()
    finer: Callable[[], TransactionTable] | None = field(default=None, repr=False)

    @property
    def features(self) -> tuple[Feature, ...]:
        """The features of all blocks, in order."""
        return tuple(column.feature for block in self.blocks for column in block.columns)

    @property
    def n_rows(self) -> int:
        """Number of rows of all blocks."""
        return sum(block.n_rows for block in self.blocks)

    @property
    def n_features(self) -> int:
        """Number of columns of all blocks."""
        return sum(len(block.columns) for block in self.blocks)

    @property
    def n_items(self) -> int:
        """Number of items of all blocks."""
        return sum(block.n_items for block in self.blocks)

    def iter_items(self) -> Iterator[Item]:
        """Iterate over the items of all blocks, in order."""
        return (block.item(number) for block in self.blocks for number in range(block.n_items))

    @property
    def is_factorised(self) -> bool:
        """Whether rows are frames × embeddings, or there are several blocks."""
        return len(self.blocks) > 1 or any(block.n_embeddings != 1 for block in self.blocks)

    @property
    def codes(self) -> Codes:
        """Matrix (rows × features) of codes of a plain table; a factorised table raises a ``MiningError``."""
        if self.is_factorised:
            raise MiningError(
                "a factorised table has no single matrix of codes", hint="use table.blocks[i].flat() for one block"
            )
        return self.blocks[0].flat() if self.blocks else np.empty((0, 0), np.int16)

    @cached_property
    def _where(self) -> dict[tuple[str, Feature], tuple[int, int]]:
        return {
            (str(block.pattern or ""), column.feature): (b, c)
            for b, block in enumerate(self.blocks)
            for c, column in enumerate(block.columns)
        }

    def locate(self, feature: Feature, pattern: object = None) -> tuple[int, int]:
        """Find a feature.

        Args:
            feature: The feature.
            pattern: The pattern of its block, if it is lifted.

        Returns:
            The positions of its block and column.

        Raises:
            MiningError: If the table does not have it; the message suggests the nearest feature.
        """
        found = self._where.get((str(pattern or ""), feature))
        if found is None:
            names = [str(f) for f in self.features]
            raise MiningError(f"the table has no feature '{feature}'", hint=nearest(str(feature), names))
        return found

    def select(self, features: Iterable[Feature]) -> TransactionTable:
        """Return a table with some of the columns only.

        Args:
            features: The features of these columns.
        """
        wanted = set(features)
        blocks = tuple(
            replace(block, columns=tuple(c for c in block.columns if c.feature in wanted)) for block in self.blocks
        )
        return replace(self, blocks=tuple(block for block in blocks if block.columns))

    @property
    def sites(self) -> tuple[str, ...]:
        """The names of the systems whose places are in the table, if there are several."""
        return tuple(dict.fromkeys(site.name for block in self.blocks for site in block.sites))

    def at_site(self, name: str) -> TransactionTable:
        """Return the table of one of several systems.

        Args:
            name: The name of the system; blocks without a place in it are left out.

        Raises:
            MiningError: If the table has no such site.
        """
        if name not in self.sites:
            raise MiningError(f"the table has no site '{name}'", hint=nearest(name, self.sites))
        blocks = []
        for block in self.blocks:
            assert block.site_of is not None
            site = [one.name for one in block.sites].index(name)
            own = np.flatnonzero(block.site_of == site)
            n_frames, times = len(block.sites[site]), block.sites[site].times
            if not len(own):
                continue
            columns = tuple(
                replace(
                    column,
                    codes=column.codes if column.is_static else column.codes[:, :n_frames],
                    series=column.series[own] if len(column.series) > 1 else column.series,
                )
                for column in block.columns
            )
            embeddings = tuple(block.embeddings[e] for e in own.tolist())
            blocks.append(Block(columns, n_frames, len(own), times, block.pattern, embeddings))
        return replace(self, blocks=tuple(blocks), finer=None)

    def frames(self, chosen: npt.NDArray[Any] | slice) -> TransactionTable:
        """Return a table with some of the time frames only.

        Args:
            chosen: Positions, a mask or a slice; of several sites, positions in the frames of each, in order.

        Raises:
            MiningError: If there are several sites, and the positions are not in order.
        """
        blocks = []
        for block in self.blocks:
            columns = tuple(c if c.is_static else replace(c, codes=c.codes[:, chosen]) for c in block.columns)
            kept = np.arange(block.n_frames)[chosen]
            if block.sites and (np.diff(kept) <= 0).any():
                raise MiningError("the frames of several sites must be chosen in order", hint="sort the positions")
            sites = tuple(replace(site, times=site.times[kept[kept < len(site)]]) for site in block.sites)
            times = None if block.times is None else block.times[chosen]
            blocks.append(replace(block, columns=columns, n_frames=len(kept), times=times, sites=sites))
        return replace(self, blocks=tuple(blocks), finer=None)

    def earlier(self) -> TransactionTable:
        """Return the table without the last third of the time; of rows without times, without a third of them."""
        return replace(self, blocks=tuple(block.earlier() for block in self.blocks), finer=None)

    @property
    def is_ordered(self) -> bool:
        """Whether rows follow each other in time; those of a plain table without times do not."""
        return any(block.is_ordered for block in self.blocks)

    def shuffled(self) -> TransactionTable:
        """Return the rows of a table without times in an order that does not depend on the order they were given in.

        The blocks of a table with times are returned as they are.
        """
        return replace(self, blocks=tuple(block.shuffled() for block in self.blocks), finer=None)

    @staticmethod
    def from_frame(
        frame: Any,
        *,
        bins: int = 10,
        method: str = "frequency",
        units: Mapping[str, str] | None = None,
        categorical: str | Iterable[str] = (),
        numeric: str | Iterable[str] = (),
        bin_edges: Mapping[str, Sequence[float]] | None = None,
        towards: str = "",
        time: str | None = None,
        like: TransactionTable | Discretizer | Any = None,
    ) -> TransactionTable:
        """Create a table from a data frame, with a transaction per row.

        Text, truth values and whole numbers with few values are states; other numbers are discretized. Missing values
        (null, NaN, empty text) stay missing. The frame is not modified.

        Rows without times are taken as independent of each other, and their order has no meaning. Name the column of
        their times if they follow each other: bounds and tests then take into account that they resemble each other.

        Args:
            frame: A polars or pandas data frame, or an Arrow table.
            bins: Number of bins.
            method: Binning method, see ``fit_binning``.
            units: Units by column, for the text of rules.
            categorical: Names or patterns (with ``*`` and ``?``) of columns that hold states.
            numeric: Names or patterns of columns that hold numbers.
            bin_edges: Given edges by column, instead of fitted ones.
            towards: For a binning method that has a target: the column whose states the bins of the others tell apart.
            time: The column with the time of each row, in increasing order; it is not a feature.
            like: An earlier table, a run or a discretizer, whose columns, states and bins are used as they are. Columns
                may be in any order, and further ones are ignored. States that the earlier table does not have are
                missing, and a note counts them.

        Examples:
            >>> import polars as pl
            >>> frame = pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": ["1", "0", "1", "0"]})
            >>> train = TransactionTable.from_frame(frame, bins=2)
            >>> later = TransactionTable.from_frame(pl.DataFrame({"b": [1, 0, 7], "a": [9.0, 2.5, 0.0]}), like=train)
            >>> later.features == train.features, later.codes.tolist()
            (True, [[1, 1], [0, 0], [0, -1]])
            >>> later.notes
            ("values that the earlier table does not have are missing: 'b' (1)",)
        """
        earlier = like if like is None or isinstance(like, (TransactionTable, Discretizer)) else _table_of(like)
        known = _known_columns(earlier) if isinstance(earlier, TransactionTable) else None
        frame, times = split_times(frame, time)
        read = read_columns(frame, units=units, categorical=categorical, numeric=numeric, known=known)
        features = read.features
        if isinstance(earlier, TransactionTable):
            features, discretizer = earlier.features, earlier.discretizer
        elif isinstance(earlier, Discretizer):
            discretizer = earlier
        else:
            discretizer = Discretizer(
                method=method, bins=bins, scope="sensor", bin_edges=bin_edges or {}, towards=towards
            )
        return FeatureTable(features, read.numbers, read.categories, times, notes=read.notes).discretize(discretizer)

    def within_hops(self, graph: KnowledgeGraph, *, hops: int = 2) -> list[list[list[int]]]:
        """Find, for each column, the columns whose nodes are near in the graph.

        Pass the result to a miner as ``near``: rules then combine only features that are close in the graph.

        Args:
            graph: The knowledge graph.
            hops: Maximum number of edges between the nodes.

        Returns:
            For each block and column the positions of the near columns. A column without a node is near all others.

        Raises:
            ConfigError: If ``hops`` is not an integer of at least 0.

        Examples:
            >>> import thence as th
            >>> data = th.datasets.load("toy")
            >>> table = th.transactions(data)
            >>> near = table.within_hops(data.graph, hops=1)
            >>> len(near) == len(table.blocks), len(near[0]) == table.n_features
            (True, True)
        """
        if not isinstance(hops, int) or hops < 0:
            raise ConfigError(f"hops must be an integer of at least 0, got {hops!r}")
        return [_near(block, graph, hops) for block in self.blocks]

    def save(self, path: str | Path) -> None:
        """Save the table to a file of compressed arrays and JSON with a checksum, and with nothing executable.

        Args:
            path: The file to write; it is replaced in one step.

        Raises:
            RunError: If the file cannot be written.
        """
        arrays: dict[str, npt.NDArray[Any]] = {}
        seen: dict[int, str] = {}
        blocks: list[dict[str, Any]] = []
        for block in self.blocks:
            columns: list[dict[str, Any]] = []
            for column in block.columns:
                # Columns of a lifted block share their series: each array is written once.
                name = seen.setdefault(id(column.codes), f"codes{len(seen)}")
                arrays[name] = column.codes
                arrays[f"series{len(blocks)}_{len(columns)}"] = column.series
                columns.append(
                    {
                        "feature": column.feature.to_dict(),
                        "values": [_value_to_json(value) for value in column.values],
                        "codes": name,
                        "context": column.context,
                        "minable": column.minable,
                    }
                )
            if block.times is not None:
                arrays[f"times{len(blocks)}"] = block.times.astype("datetime64[us]").astype(np.int64)
            for k, site in enumerate(block.sites):
                arrays[f"times{len(blocks)}_{k}"] = site.times.astype("datetime64[us]").astype(np.int64)
            if block.site_of is not None:
                arrays[f"site_of{len(blocks)}"] = block.site_of
            blocks.append(
                {
                    "columns": columns,
                    "sites": [site.name for site in block.sites],
                    "n_frames": block.n_frames,
                    "n_embeddings": block.n_embeddings,
                    "pattern": None if block.pattern is None else str(block.pattern),
                    "embeddings": block.embeddings,
                }
            )
        meta = {
            "format": FORMAT,
            "enrichment": self.enrichment,
            "discretizer": self.discretizer.to_dict(),
            "notes": self.notes,
            "blocks": blocks,
        }
        with new_file(Path(path)) as draft:
            draft.write_bytes(dump_arrays(meta, arrays))

    @staticmethod
    def load(path: str | Path) -> TransactionTable:
        """Load a table.

        Args:
            path: A file that ``save`` wrote.

        Raises:
            InputError: If the file is missing, was changed after it was written, or is of another format version.

        Examples:
            >>> import polars as pl, tempfile
            >>> table = TransactionTable.from_frame(pl.DataFrame({"a": [1.0, 2.0], "b": ["x", None]}), bins=2)
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     table.save(f"{folder}/t.npz")
            ...     again = TransactionTable.load(f"{folder}/t.npz")
            >>> again.features == table.features, (again.codes == table.codes).all().item()
            (True, True)
        """
        try:
            meta, arrays, checked = load_arrays(Path(path), hint="restore a copy, or make the table again")
        except FileNotFoundError:
            raise InputError("no such file", where=str(path)) from None
        except RunError as error:
            raise InputError(f"not a saved table: {error.message}", where=error.where, hint=error.hint) from error
        if (version := meta.get("format")) != FORMAT:
            raise InputError(
                f"the table has format {quote(version)}, but this version reads format {FORMAT}", where=str(path)
            )
        try:
            table = TransactionTable(
                tuple(_read_block(b, block, arrays) for b, block in enumerate(meta["blocks"])),
                str(meta["enrichment"]),
                Discretizer.from_dict(meta["discretizer"]),
                tuple(map(str, meta["notes"])),
            )
        except (*_FOREIGN, ThenceError) as error:
            reason = f"{quote(error.args[0])} is missing" if isinstance(error, KeyError) else quote(error)[1:-1]
            raise InputError(
                f"not a saved table ({reason})", where=str(path), hint="restore a copy, or make the table again"
            ) from error
        note = "the saved table has no checksum, since an earlier version wrote it: changes to it are not noticed"
        return table if checked else replace(table, notes=(*table.notes, note))

    def to_polars(self) -> pl.DataFrame:
        """Return the codes of a plain table as a data frame; columns are named by the text of the features."""
        import polars as pl

        codes = self.codes
        return pl.DataFrame({str(f): codes[:, i] for i, f in enumerate(self.features)})

    def describe(self) -> dict[str, Any]:
        """Return sizes and contents as a dict that JSON can hold."""
        columns = [column for block in self.blocks for column in block.columns]
        return {
            "enrichment": self.enrichment,
            "blocks": len(self.blocks),
            "rows": self.n_rows,
            "frames": max((block.n_frames for block in self.blocks), default=0),
            "embeddings": sum(block.n_embeddings for block in self.blocks),
            **({"sites": list(self.sites)} if self.sites else {}),
            "features": self.n_features,
            "items": self.n_items,
            "context_features": sum(column.context for column in columns),
            "constant_features": sum(column.is_constant for column in columns),
            "features_with_missing": sum(column.has_missing for column in columns),
            "missing_share": _missing_share(self.blocks),
            "patterns": [str(block.pattern) for block in self.blocks if block.pattern is not None],
            "notes": list(self.notes),
        }

    def _repr_html_(self) -> str:
        return _table_html(self)

    def __repr__(self) -> str:
        return (
            f"TransactionTable({self.n_rows:,} rows × {self.n_features:,} features, {self.n_items:,} items, "
            f"enrich={self.enrichment!r})"
        )


def _near(block: Block, graph: KnowledgeGraph, hops: int) -> list[list[int]]:
    places = [_places(column.feature, graph) for column in block.columns]
    everywhere = [c for c, own in enumerate(places) if not own]
    at: dict[str, list[int]] = {}
    for c, own in enumerate(places):
        for place in own:
            at.setdefault(place, []).append(c)
    reach = {place: graph.neighbours(place, hops=hops) if hops else {} for place in at}
    out = []
    for c, own in enumerate(places):
        if not own:
            out.append([other for other in range(len(places)) if other != c])
            continue
        found = [other for place in own for node in (place, *reach[place]) for other in at.get(node, ())]
        out.append(sorted(set(found + everywhere) - {c}))
    return out


def _places(feature: Feature, graph: KnowledgeGraph) -> tuple[str, ...]:
    """The node of a feature; an edge is at both its ends."""
    edge = graph.edges.get(feature.subject) if feature.role is Role.EDGE else None
    if edge is not None:
        return edge.source, edge.target
    node = feature.place if feature.aspect is Aspect.MEASUREMENT else feature.subject
    return (node,) if node in graph else ()


def _known_columns(table: TransactionTable) -> dict[str, tuple[Value, ...] | None]:
    """The states of each column of a table that was made from a frame, or ``None`` if it was binned."""
    if table.is_factorised or any(column_of(feature) is None for feature in table.features):
        raise ConfigError(
            "the earlier table was not made from a data frame", where="like", hint="use th.transactions(…, like=…)"
        )
    return {
        column.feature.subject: None if column.feature.subject in table.discretizer.binnings else _states_of(column)
        for block in table.blocks
        for column in block.columns
    }


def _states_of(column: Column) -> tuple[Value, ...]:
    return tuple(value for value in column.values if not isinstance(value, Interval))


def _table_of(run: Any) -> TransactionTable | Discretizer:
    """The table of a run, or its bins if the run was read from a folder."""
    for name, kind in (("table", TransactionTable), ("discretizer", Discretizer)):
        found = getattr(run, name, None)
        if isinstance(found, kind):
            return found
    raise ConfigError(
        f"cannot use bins of {type(run).__name__}", where="like", hint="pass a TransactionTable, a Run or a Discretizer"
    )


def _read_block(number: int, block: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> Block:
    """A block of a saved table; raise if its parts do not fit together."""
    n_frames, n_embeddings = operator.index(block["n_frames"]), operator.index(block["n_embeddings"])
    embeddings = tuple(tuple(map(str, names)) for names in block["embeddings"])
    sites = tuple(
        SiteFrames(str(name), _read_times(arrays[f"times{number}_{k}"]))
        for k, name in enumerate(block.get("sites", ()))
    )
    times, site_of = arrays.get(f"times{number}"), arrays.get(f"site_of{number}")
    found = Block(
        tuple(_read_column(c, arrays, arrays[f"series{number}_{k}"]) for k, c in enumerate(block["columns"])),
        n_frames,
        n_embeddings,
        None if times is None else _read_times(times),
        None if block["pattern"] is None else Pattern.parse(block["pattern"]),
        embeddings,
        sites,
        site_of,
    )
    for column in found.columns:
        if column.codes.shape[1] not in (1, n_frames) or column.series.shape not in ((1,), (n_embeddings,)):
            raise ValueError(f"{quote(column.feature)} has another shape than its block")
    if n_frames < 0 or n_embeddings < 0 or len(embeddings) != n_embeddings:
        raise ValueError("the number of frames or of embeddings is wrong")
    if found.times is not None and len(found.times) != n_frames:
        raise ValueError("the number of times is wrong")
    if bool(sites) != (site_of is not None) or any(len(site) > n_frames for site in sites):
        raise ValueError("the frames of the sites are wrong")
    if site_of is not None:
        _require_within(site_of, (n_embeddings,), 0, len(sites))
    return found


def _read_column(column: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], series: Indices) -> Column:
    values = tuple(_value_from_json(value) for value in column["values"])
    codes = arrays[column["codes"]]
    minable = None if column["minable"] is None else tuple(column["minable"])
    _require_within(codes, codes.shape, -1, len(values))
    if codes.ndim != 2 or codes.dtype != np.int16:
        raise ValueError("codes must be a matrix of 16-bit integers")
    _require_within(series, series.shape, -1, codes.shape[0])
    if minable is not None and (len(minable) != len(values) or not all(isinstance(one, bool) for one in minable)):
        raise ValueError("'minable' must have true or false for each value")
    if not isinstance(column["context"], bool):
        raise TypeError("'context' must be true or false")
    return Column(Feature.from_dict(column["feature"]), values, codes, series, column["context"], minable)


def _read_times(times: npt.NDArray[Any]) -> npt.NDArray[np.datetime64]:
    if times.dtype != np.int64 or times.ndim != 1:
        raise ValueError("times must be a list of 64-bit integers")
    return times.astype("datetime64[us]")


def _require_within(numbers: npt.NDArray[Any], shape: tuple[int, ...], low: int, end: int) -> None:
    if numbers.dtype.kind != "i" or numbers.shape != shape:
        raise ValueError("an array has another shape or type than it must have")
    if numbers.size and not low <= int(numbers.min()) <= int(numbers.max()) < end:
        raise ValueError(f"a number is outside of {low} to {end - 1}")


def _value_to_json(value: Value | Interval) -> Any:
    """Convert a category or an interval to JSON; infinite ends become null."""
    return value.to_dict() if isinstance(value, Interval) else value


def _value_from_json(value: Any) -> Value | Interval:
    if isinstance(value, dict):
        return Interval.from_dict(value)
    if not isinstance(value, (str, int, float)):
        raise TypeError(f"a value must be a string, a number or an interval, got {quote(value)}")
    return value


def _missing_share(blocks: Sequence[Block]) -> float:
    missing, cells = 0.0, 0
    for block in blocks:
        if not block.n_rows:
            continue
        for column in block.columns:
            per_series = (column.codes >= 0).mean(axis=1)
            # After the last frame of a site there are no rows, so nothing is missing there.
            frames = block.frames_of if column.is_static else np.full(block.n_embeddings, block.n_frames)
            series = np.broadcast_to(column.series, (block.n_embeddings,))
            known = np.where(series < 0, 0.0, per_series[series] * frames)
            missing += block.n_rows - float(known.sum())
            cells += block.n_rows
    return missing / cells if cells else 0.0


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Transactions before discretization, for miners that find their own intervals.

    Args:
        features: The features.
        numbers: Matrix (rows × features) of numbers, NaN for missing. The column of a categorical feature holds
            positions in its categories.
        categories: The categories of each feature; ``None`` for a numeric one.
        times: Start of each row's time frame; ``None`` if rows are independent of each other.
        context: Whether each feature is context; none by default.
        notes: Remarks on how the table was built, for people.

    Examples:
        >>> table = FeatureTable((Feature("a"),), np.array([[1.0], [np.nan], [3.0]]), (None,))
        >>> table.mask(Item.compare(Feature("a"), ">=", 2.0)).tolist()
        [False, False, True]
    """

    features: tuple[Feature, ...]
    numbers: npt.NDArray[np.float64]
    categories: tuple[tuple[Value, ...] | None, ...]
    times: npt.NDArray[np.datetime64] | None = None
    context: tuple[bool, ...] = ()
    notes: tuple[str, ...] = ()

    @staticmethod
    def from_frame(
        frame: Any,
        *,
        units: Mapping[str, str] | None = None,
        categorical: str | Iterable[str] = (),
        numeric: str | Iterable[str] = (),
        time: str | None = None,
        like: FeatureTable | None = None,
    ) -> FeatureTable:
        """Create a table from a data frame, with a transaction per row; numbers stay as they are.

        Args:
            frame: A polars or pandas data frame, or an Arrow table.
            units: Units by column, for the text of rules.
            categorical: Names or patterns (with ``*`` and ``?``) of columns that hold states.
            numeric: Names or patterns of columns that hold numbers.
            time: The column with the time of each row, in increasing order; it is not a feature. Rows without times
                are taken as independent of each other.
            like: An earlier table whose columns and states are used as they are.

        Examples:
            >>> import polars as pl
            >>> FeatureTable.from_frame(pl.DataFrame({"a": [1.5, None], "b": ["x", ""]})).numbers.tolist()
            [[1.5, 0.0], [nan, nan]]
        """
        known = None
        if like is not None:
            known = {f.subject: states for f, states in zip(like.features, like.categories, strict=True)}
        frame, times = split_times(frame, time)
        read = read_columns(frame, units=units, categorical=categorical, numeric=numeric, known=known)
        features = read.features if like is None else like.features
        return FeatureTable(features, read.numbers, read.categories, times, notes=read.notes)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.numbers.shape[0])

    def mask(self, item: Item) -> npt.NDArray[np.bool_]:
        """Return the rows that satisfy an item, as a mask.

        Args:
            item: The item.
        """
        at = self.column(item.feature)
        values = self.numbers[:, at]
        known = self.categories[at]
        if known is None:
            return item.mask(values)
        hits = np.array([code for code, value in enumerate(known) if item.holds(value)], dtype=np.float64)
        return np.asarray(np.isin(values, hits))

    def column(self, feature: Feature) -> int:
        """Return the position of a feature.

        Args:
            feature: The feature.

        Raises:
            MiningError: If the table does not have it; the message suggests the nearest feature.
        """
        try:
            return self.features.index(feature)
        except ValueError:
            names = [str(f) for f in self.features]
            raise MiningError(f"the table has no feature '{feature}'", hint=nearest(str(feature), names)) from None

    def discretize(self, discretizer: Discretizer, *, enrichment: str = "none") -> TransactionTable:
        """Discretize the numbers.

        Args:
            discretizer: How to discretize; bins that it lacks are fitted on this table.
            enrichment: Name of the enrichment that built this table.
        """
        keys = [
            discretizer.group(kind=f.label, sensor=f.subject or f.name, name=f.name if f.subject else "")
            if f.aspect is Aspect.MEASUREMENT
            else f"{f.label}.{f.name}"
            for f in self.features
        ]
        # Bins that were fitted on other data cannot be cut into finer ones of this table.
        finer = None
        if not discretizer.binnings and discretizer.parts == 1:
            finer = partial(self.discretize, discretizer.finer(FINE_BINS), enrichment=enrichment)
        pooled: dict[str, list[npt.NDArray[np.float64]]] = {}
        for at, key in enumerate(keys):
            if self.categories[at] is None and key not in discretizer.binnings:
                pooled.setdefault(key, []).append(self.numbers[:, at])
        if pooled:
            groups = {key: np.concatenate(parts) for key, parts in pooled.items()}
            discretizer = discretizer.fit(groups, classes=self._classes(discretizer, keys))
        columns = []
        for at, feature in enumerate(self.features):
            known = self.categories[at]
            context = bool(self.context[at]) if self.context else False
            values: tuple[Value | Interval, ...]
            if known is None:
                binning = discretizer.binnings[keys[at]]
                codes, values = binning.encode(self.numbers[:, at]), tuple(binning.values)
            else:
                raw = np.where(np.isnan(self.numbers[:, at]), -1, self.numbers[:, at])
                codes = as_codes(
                    raw, len(known), of=f"'{feature}'", hint="leave it out: ignore=[…], or drop the column"
                )
                values = known
            columns.append(Column(feature, values, codes[None, :], context=context))
        block = Block(tuple(columns), self.n_rows, times=self.times)
        return TransactionTable((block,), enrichment, discretizer, self.notes, finer)

    def _classes(self, discretizer: Discretizer, keys: Sequence[str]) -> Mapping[str, npt.NDArray[np.int64]] | None:
        """Return the states towards which numbers are cut, by key; ``None`` if the method needs none."""
        if not is_supervised(discretizer.method):
            return None
        targets = find_targets(discretizer.towards, self.features)
        states = [
            number_states(self.numbers[:, at], categorical=self.categories[at] is not None, bins=discretizer.bins)
            for at in targets
        ]
        numeric = [key for at, key in enumerate(keys) if self.categories[at] is None]
        return classes_by_key(discretizer, states, numeric, [keys[at] for at in targets if self.categories[at] is None])


def _table_html(data: TransactionTable) -> str:
    """Return a transaction table as HTML: its sizes, its blocks, and the notes."""
    columns_and_items = f"{counted(data.n_features, 'feature')}, {counted(data.n_items, 'item')}"
    sizes = f"{counted(data.n_rows, 'transaction')} × {columns_and_items}"
    blocks = [block for block in data.blocks if block.pattern is not None]
    rows = [
        (_pattern(b.pattern), f"{b.n_embeddings:,}", f"{b.n_frames:,}", f"{len(b.columns):,}", f"{b.n_items:,}")
        for b in blocks[:_MOST_SHOWN]
    ]
    grid = table(["pattern", "places", "frames", "features", "items"], rows, numbers=(1, 2, 3, 4)) if rows else Html("")
    names = [] if blocks else [str(column.feature) for block in data.blocks for column in block.columns]
    columns = pairs({"features": listed(names, 8)}) if names else Html("")
    facts = pairs({"enrichment": data.enrichment})
    more = [f"… and {len(blocks) - _MOST_SHOWN:,} more patterns"] if len(blocks) > _MOST_SHOWN else []
    return panel(f"TransactionTable: {sizes}", facts, columns, grid, notes([*more, *data.notes]))


def _pattern(pattern: Any) -> Html:
    """A pattern in words, and its exact text when asked for."""
    return join([pattern.english, folded("exact text", code(str(pattern)))])
