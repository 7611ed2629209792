"""The torch counts are the same integers as the bitmap counts."""

from __future__ import annotations

import numpy as np
import pytest

from thence.bitmaps import bits
from thence.bitmaps import counts as counting
from thence.errors import ConfigError, InputError

torch = pytest.importorskip("torch")
count_torch = pytest.importorskip("thence.bitmaps.torch_counts")

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"))]
CARDINALITIES = [3, 1, 4, 2, 5]


def table(n_rows: int, *, missing: float) -> np.ndarray:
    rng = np.random.default_rng(n_rows)
    codes = np.stack([rng.integers(0, size, size=n_rows) for size in CARDINALITIES], axis=1)
    codes[rng.random(codes.shape) < missing] = -1
    return codes.astype(np.int8)


def rules(n_rules: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(width)
    return rng.integers(-1, sum(CARDINALITIES), size=(n_rules, width)), rng.integers(0, sum(CARDINALITIES), n_rules)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("method", ["matmul", "bits", "auto"])
@pytest.mark.parametrize("denominator", ["present", "all"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize(("n_rows", "width"), [(0, 1), (1, 2), (64, 3), (1000, 2), (129, 0), (70, 20)])
def test_same_integers(device: str, method: str, denominator: str, missing: float, n_rows: int, width: int) -> None:
    codes = table(n_rows, missing=missing)
    antecedents, consequents = rules(60, width)
    bitmaps, present = bits.pack_codes(codes, cardinalities=CARDINALITIES)
    expected = counting.count_rules(
        bitmaps,
        n_rows=n_rows,
        antecedents=antecedents,
        consequents=consequents,
        present=present,
        feature_of_item=np.repeat(np.arange(5), CARDINALITIES),
        denominator=denominator,  # type: ignore[arg-type]
    )
    found = count_torch.count_rules_torch(
        codes,
        cardinalities=CARDINALITIES,
        antecedents=antecedents,
        consequents=consequents,
        denominator=denominator,
        device=device,
        method=method,
    )
    assert np.array_equal(np.stack(found), np.stack(expected))


@pytest.mark.parametrize("method", ["matmul", "bits"])
def test_small_batches_give_the_same_integers(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = table(1000, missing=0.2)
    antecedents, consequents = rules(200, 2)
    given = {"cardinalities": CARDINALITIES, "antecedents": antecedents, "consequents": consequents, "method": method}
    whole = count_torch.count_rules_torch(codes, **given)
    monkeypatch.setattr(count_torch, "_BATCH_BYTES", {"cpu": 20_000})
    monkeypatch.setattr(count_torch, "_EXACT_ROWS", 100)
    assert np.array_equal(np.stack(count_torch.count_rules_torch(codes, **given)), np.stack(whole))


def test_popcount_of_every_byte_and_of_full_words() -> None:
    words = torch.tensor([[-1, 0, 1 << 62, -(1 << 63)], [255, 256, 0x0F0F, 7]], dtype=torch.int64)
    assert count_torch._ones(words).tolist() == [64 + 0 + 1 + 1, 8 + 1 + 8 + 3]


def test_wrong_input_is_named() -> None:
    codes = table(4, missing=0.0)
    given = {"cardinalities": CARDINALITIES, "antecedents": [[0]], "consequents": [4]}
    with pytest.raises(ConfigError, match="unknown method 'magic'"):
        count_torch.count_rules_torch(codes, **given, method="magic")
    with pytest.raises(InputError, match="consequents must be items 0…14"):
        count_torch.count_rules_torch(codes, **{**given, "consequents": [15]})
    with pytest.raises(InputError, match="antecedents must be items 0…14"):
        count_torch.count_rules_torch(codes, **{**given, "antecedents": [[-2]]})
    with pytest.raises(InputError, match="2 consequents"):
        count_torch.count_rules_torch(codes, **{**given, "consequents": [1, 2]})
    with pytest.raises(InputError, match="unknown denominator"):
        count_torch.count_rules_torch(codes, **given, denominator="some")
    with pytest.raises(InputError, match="one column for each of 2"):
        count_torch.count_rules_torch(codes, **{**given, "cardinalities": [2, 2]})
