import polars as pl
import pytest
from thence_one_r import OneR

from thence.lab.evaluate.conformance import yield_checks
from thence.tables.transactions import TransactionTable


@pytest.mark.parametrize("check", list(yield_checks(OneR())), ids=lambda check: check.__name__)
def test_conformance(check):
    check(OneR())


def test_the_most_frequent_companion_wins():
    frame = pl.DataFrame({"door": ["open", "open", "open", "shut"], "light": ["on", "on", "off", "off"]})
    rules = OneR(min_confidence=0.6).mine(TransactionTable.from_frame(frame))
    assert {str(rule) for rule in rules} == {
        "(door).value = 'open' → (light).value = 'on'",
        "(door).value = 'shut' → (light).value = 'off'",
        "(light).value = 'on' → (door).value = 'open'",
    }
