"""Selection by cover: every row that rules can be right about is right as often as asked."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from thence.checks.estimators.rule_search import select_covering


@given(st.data())
def test_rows_are_covered_as_often_as_they_can_be(data: st.DataObject) -> None:
    n, m = data.draw(st.integers(1, 8)), data.draw(st.integers(0, 8))
    bits = st.lists(st.booleans(), min_size=n, max_size=n)
    masks = np.array([data.draw(bits) for _ in range(m)], bool).reshape(m, n)
    says = np.array(data.draw(st.lists(st.integers(0, 1), min_size=m, max_size=m)), np.int64)
    classes = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)), np.int64)
    covers = data.draw(st.integers(1, 3))
    kept, reached = select_covering(list(range(m)), lambda r: masks[r], says, classes, covers=covers)
    right = masks & (says[:, None] == classes[None, :])
    assert (right[kept].sum(axis=0) >= np.minimum(right.sum(axis=0), covers)).all()
    assert (reached == masks[kept].any(axis=0)).all()
    assert kept == sorted(kept)
    for at, rule in enumerate(kept):
        before = right[kept[:at]].sum(axis=0)
        assert (right[rule] & (before < covers)).any(), "a kept rule is needed when it is taken"
