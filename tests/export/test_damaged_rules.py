"""Rules files that carry no checksum of their own: what no table can have given is refused, not shown."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import thence as th
from thence.errors import InputError


@pytest.fixture(scope="module")
def rules() -> th.RuleSet:
    return th.mine(th.datasets.load("toy"), windows="1h", bins=3, progress="off").rules


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
