"""Rules files that carry no checksum of their own: what no table can have given is refused, not shown."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import thence as th
from tests.show.export.rulesets import varied
from thence.errors import InputError


@pytest.fixture(scope="module")
def rules() -> th.RuleSet:
    return th.mine(th.datasets.load("toy"), windows="1h", bins=3, confirm=False, progress="off").rules


@pytest.mark.parametrize(
    ("column", "value"), [("n_both", 10**6), ("n_both", -1), ("n_antecedent", 0), ("n", 1), ("n_both", 1.5)]
)
def test_impossible_counts_are_refused(rules: th.RuleSet, tmp_path: Path, column: str, value: float) -> None:
    """One flipped bit showed a lift of 0.134 beside a confidence of 1.000."""
    path = th.write_rules(rules, tmp_path / "rules.json")
    assert len(th.read_rules(path)) == len(rules)
    record = json.loads(path.read_text())
    text = json.dumps(record).replace(f'"{column}": ', f'"{column}": {value}, "was": ', 1)
    path.write_text(text)
    with pytest.raises(InputError, match=r"counts"):
        th.read_rules(path)


@pytest.mark.parametrize(("key", "value"), [("facts", "text"), ("notes", "text"), ("notes", [1])])
def test_facts_and_notes_of_another_type_are_refused(
    rules: th.RuleSet, tmp_path: Path, key: str, value: object
) -> None:
    """A text in their place was an AttributeError when rules were selected; seen by fuzzing."""
    path = th.write_rules(rules, tmp_path / "rules.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(InputError, match=key):
        th.read_rules(path)


def test_an_item_that_is_not_in_the_list_is_refused(rules: th.RuleSet, tmp_path: Path) -> None:
    """It was read as the last item of the list."""
    path = th.write_rules(rules, tmp_path / "rules.parquet")
    table = pq.read_table(path)
    at = table.schema.get_field_index("consequents")
    texts = ["no such item", *table["consequents"].to_pylist()[1:]]
    pq.write_table(table.set_column(at, "consequents", pa.array(texts)), path)
    with pytest.raises(InputError, match="not in the list of items"):
        th.read_rules(path)


def test_flipped_bits_end_in_rules_or_in_our_error(rules: th.RuleSet, tmp_path: Path) -> None:
    """Some panicked inside polars, which is no ``Exception``."""
    path = th.write_rules(rules, tmp_path / "rules.parquet")
    content, choose = path.read_bytes(), random.Random(0)
    refused = 0
    for _ in range(150):
        at = choose.randrange(8 * len(content))
        damaged = bytearray(content)
        damaged[at // 8] ^= 1 << at % 8
        path.write_bytes(damaged)
        try:
            assert len(th.read_rules(path).counts) == len(th.read_rules(path))
        except InputError:
            refused += 1
    assert refused > 20


def few() -> th.RuleSet:
    """Rules with two items, with a condition, and with a pattern."""
    return varied().take(np.array([0, 5, 6]))


WRONG: tuple[Any, ...] = (None, True, 0.5, "x", [1], {"a": {"b": 1}})


def paths(document: Any, prefix: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of a document; of long lists the second entry only, since all are alike."""
    for key in list(document) if isinstance(document, dict) else range(min(len(document), 2))[-1:]:
        yield (*prefix, key)
        if isinstance(document[key], (dict, list)):
            yield from paths(document[key], (*prefix, key))


def damaged(document: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The document with one part left out or replaced by one of another kind, with the place."""
    for path in paths(document):
        for value in (KeyError, *WRONG):
            copy = deepcopy(document)
            parent = copy
            for key in path[:-1]:
                parent = parent[key]
            before = parent[path[-1]]
            if path[-2:-1] in (("antecedent",), ("extras",)) and value in (KeyError, None):
                continue  # another rule, or a missing value
            if value is KeyError:
                del parent[path[-1]]
            elif isinstance(before, bool) is isinstance(value, bool) and isinstance(value, (type(before), float)):
                continue  # of the same kind: other rules, which nothing can tell from these
            else:
                parent[path[-1]] = value
            yield path, copy


def require_equal_or_refused(path: Path, rules: th.RuleSet, where: object) -> bool:
    """Read a damaged file: it has the same rules and columns, or is refused with its name; return whether it is."""
    try:
        found = th.read_rules(path)
    except InputError as error:
        assert path.name in str(error), where
        return True
    assert list(found) == list(rules), where
    assert found.extras.keys() == rules.extras.keys(), where
    for name, column in rules.extras.items():
        assert np.asarray(found.extras[name]).tolist() == column.tolist(), where
    assert found.counts.n_both.tolist() == rules.counts.n_both.tolist(), where
    found.describe(), str(found), found.to_polars(), found.data_coverage
    return False


def test_json_with_a_part_missing_or_of_another_kind(tmp_path: Path) -> None:
    """Regression: values that are objects were a ``TypeError`` later, and a missing pattern another rule."""
    rules = few()
    path = th.write_rules(rules, tmp_path / "rules.json")
    refused = 0
    for where, document in damaged(json.loads(path.read_text())):
        path.write_text(json.dumps(document))
        refused += require_equal_or_refused(path, rules, where)
    assert refused > 300


def test_parquet_with_a_part_missing_or_of_another_kind(tmp_path: Path) -> None:
    rules = few()
    path = th.write_rules(rules, tmp_path / "rules.parquet")
    table = pq.read_table(path)
    about = json.loads(pq.read_metadata(path).metadata[b"thence"])
    refused = 0
    for where, document in damaged(about):
        pq.write_table(table.replace_schema_metadata({"thence": json.dumps(document)}), path)
        refused += require_equal_or_refused(path, rules, where)
    for name in table.column_names:
        kept = table.replace_schema_metadata({"thence": json.dumps(about)})
        at = kept.schema.get_field_index(name)
        for other in (None, pa.array([{"a": 1}] * 3), pa.array(["x"] * 3), pa.array([[1]] * 3), pa.nulls(3)):
            changed = kept.drop_columns([name]) if other is None else kept.set_column(at, name, other)
            if name not in ("probability", "runs") or other is None or other.type not in (pa.string(), pa.null()):
                pq.write_table(changed, path)
                refused += require_equal_or_refused(path, rules, (name, other))
    assert refused > 100
