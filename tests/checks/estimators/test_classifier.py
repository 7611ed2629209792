"""Rules for scikit-learn: its own checks, frames with text and gaps, what decides, and what is refused."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import thence as th
from thence.checks.estimators.classifier import RuleClassifier
from thence.checks.estimators.features import RuleFeatures
from thence.checks.estimators.weights import repetitions
from thence.errors import ConfigError

IRIS = load_iris(return_X_y=True, as_frame=True)
# scikit-learn itself casts infinite labels when it checks them.
IGNORED = pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")


@IGNORED
@parametrize_with_checks([RuleClassifier(), RuleClassifier(vote="best"), RuleFeatures()])
def test_scikit_learn_accepts_the_estimators(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def mixed() -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "shape": rng.choice(["flat", "tall"], n),
            "count": rng.integers(0, 5, n),
            "new": rng.choice([True, False], n),
        }
    )
    label = pd.Series(np.where((frame["size"] > 0) & (frame["shape"] == "flat"), "yes", "no"), name="verdict")
    frame.loc[:9, "size"] = np.nan
    frame.loc[5:14, "shape"] = None
    return frame, label


@pytest.mark.parametrize("vote", ["weighted", "best"])
@pytest.mark.parametrize(
    "convert", [lambda f: f, pl.from_pandas, lambda f: pl.from_pandas(f).to_arrow()], ids=["pandas", "polars", "arrow"]
)
def test_frames_with_text_and_gaps_are_learned(mixed: tuple[pd.DataFrame, pd.Series], convert: Any, vote: str) -> None:
    frame, label = mixed
    model = RuleClassifier(vote=vote).fit(convert(frame), label)
    assert model.score(convert(frame), label) > 0.95
    assert list(model.classes_) == ["no", "yes"]
    assert list(model.feature_names_in_) == list(frame.columns)
    assert {rule.consequent.feature.subject for rule in model.rules_} == {"verdict"}
    proba = model.predict_proba(convert(frame))
    assert proba.shape == (len(frame), 2)
    assert np.allclose(proba.sum(axis=1), 1)
    assert (model.classes_[proba.argmax(axis=1)] == model.predict(convert(frame))).all()


def test_the_best_rule_decides_as_the_rule_set_does() -> None:
    X, y = IRIS
    model = RuleClassifier(vote="best").fit(X, y)
    applies = model.rules_.applies(X).any(axis=1)
    assert (model.predict(X)[applies] == model.rules_.predict(X[applies])).all()


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_held_out_accuracy_is_good(load: Any) -> None:
    X, y = load(return_X_y=True, as_frame=True)
    train, test, own, other = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    assert RuleClassifier().fit(train, own).score(test, other) >= 0.93
    assert RuleClassifier(vote="best").fit(train, own).score(test, other) >= 0.9


def test_rows_that_no_rule_reaches_get_the_classes_of_such_rows() -> None:
    X = np.array([[0.0]] * 50 + [[np.nan]] * 20 + [[1.0]] * 50)
    y = np.array([0] * 50 + [2] * 20 + [1] * 50)
    model = RuleClassifier(vote="best").fit(X, y)
    assert model.predict([[0.0], [1.0], [np.nan]]).tolist() == [0, 1, 2]


def test_noise_and_a_single_class_are_no_trouble() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3))
    for vote in ("best", "weighted"):
        assert RuleClassifier(vote=vote).fit(X, np.zeros(40)).predict(X).tolist() == [0.0] * 40
        constant = RuleClassifier(vote=vote).fit(np.ones((40, 2)), rng.integers(0, 2, 40))
        assert not len(constant.rules_)
        assert constant.predict_proba(np.ones((3, 2))).shape == (3, 2)


def test_a_rare_class_has_rules() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1000, 2))
    y = np.where((X[:, 0] > 1.5) & (rng.random(1000) < 0.4), "rare", "common")
    model = RuleClassifier(covers=1).fit(X, y)
    assert "rare" in {rule.consequent.value for rule in model.rules_}


def test_labels_that_look_alike_stay_apart() -> None:
    X = np.arange(40.0).reshape(-1, 1)
    y = np.array(["1"] * 20 + ["true"] * 20)
    assert (RuleClassifier(vote="best").fit(X, y).predict(X) == y).all()


def test_the_name_of_the_class_may_be_taken() -> None:
    X = pd.DataFrame({"class": np.arange(40.0)})
    model = RuleClassifier().fit(X, np.repeat([0, 1], 20))
    assert model.rules_.rule(0).consequent.feature.subject == "class_"


def test_estimators_work_in_pipelines_searches_and_pickles() -> None:
    X, y = IRIS
    assert cross_val_score(RuleClassifier(), X, y, cv=3).mean() > 0.9
    piped = make_pipeline(RuleFeatures(), LogisticRegression()).fit(X, y)
    assert piped.score(X, y) > 0.95
    model = RuleClassifier(min_support=0.02).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(X) == model.predict(X)).all()
    assert clone(model).get_params() == model.get_params()
    assert clone(model).set_params(vote="best").vote == "best"


def test_categorical_columns_are_states() -> None:
    X = pd.DataFrame({"code": [1, 2, 3] * 30})
    y = np.array(["odd", "even", "odd"] * 30)
    model = RuleClassifier(categorical="code", max_antecedents=1).fit(X, y)
    assert (model.predict(X) == y).all()
    assert all(isinstance(item.value, float) for rule in model.rules_ for item in rule.antecedent)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"vote": "all"}, "unknown vote 'all'"),
        ({"penalty": 0}, "penalty must be above 0"),
        ({"min_support": 2}, "min_support"),
        ({"min_confidence": -1}, "min_confidence"),
        ({"covers": 0}, "covers"),
        ({"max_antecedents": 0}, "max_antecedents"),
        ({"categorical": "colour"}, "no column matches 'colour'"),
    ],
)
def test_impossible_settings_are_refused(setting: dict[str, Any], message: str) -> None:
    X, y = IRIS
    with pytest.raises(th.errors.ConfigError, match=message):
        RuleClassifier(**setting).fit(X, y)


def test_features_have_the_texts_of_antecedents() -> None:
    X, y = IRIS
    features = RuleFeatures(max_antecedents=1).fit(X, y)
    names = features.get_feature_names_out()
    assert len(set(names)) == len(names) == features.transform(X).shape[1]
    assert set(np.unique(features.transform(X))) == {0.0, 1.0}
    frame = RuleFeatures().set_output(transform="pandas").fit_transform(X, y)
    assert isinstance(frame, pd.DataFrame)
    with pytest.raises(ValueError, match="input_features is not equal"):
        features.get_feature_names_out(["a", "b", "c", "d"])


def test_features_of_given_rules_need_no_classes() -> None:
    X, y = IRIS
    run = th.mine(X.assign(kind=y), target="kind", progress="off")
    features = RuleFeatures(run.rules).fit(X)
    assert features.transform(X).shape[1] <= len(run.rules)
    with pytest.raises(th.errors.InputError, match="lacks"):
        RuleFeatures(run.rules).fit(X.iloc[:, :1])
    with pytest.raises(ValueError, match="requires y"):
        RuleFeatures().fit(X)
    with pytest.raises(th.errors.ConfigError, match="covers must be at least 1"):
        RuleFeatures(covers=0).fit(X, y)


def test_without_scikit_learn_the_package_imports_and_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from thence import *\n"
        "import thence as th\n"
        "for kind in (th.estimators.RuleClassifier, th.estimators.RuleFeatures):\n"
        "    try:\n"
        "        kind()\n"
        "    except th.errors.MissingExtraError as error:\n"
        "        assert 'thence[sklearn]' in str(error)\n"
        "    else:\n"
        "        raise SystemExit('no error')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("vote", ["weighted", "best"])
def test_a_weight_is_a_number_of_rows(mixed: tuple[pd.DataFrame, pd.Series], vote: str) -> None:
    frame, label = mixed
    times = np.random.default_rng(1).integers(0, 4, len(frame))
    every = np.repeat(np.arange(len(frame)), times)
    weighted = RuleClassifier(vote=vote).fit(frame, label, sample_weight=times)
    repeated = RuleClassifier(vote=vote).fit(frame.iloc[every], label.iloc[every])
    assert [str(rule) for rule in weighted.rules_] == [str(rule) for rule in repeated.rules_]
    assert (weighted.rules_.counts.n_rows == len(every)).all()
    assert np.allclose(weighted.predict_proba(frame), repeated.predict_proba(frame))


def test_weights_of_classes_move_the_decision() -> None:
    rng = np.random.default_rng(0)
    y = (rng.random(600) < 0.1).astype(int)
    X = pd.DataFrame({"size": rng.normal(size=600) + y})
    plain, balanced = (
        RuleClassifier(class_weight=weight).fit(X, y).predict(X)[y == 1].mean() for weight in (None, "balanced")
    )
    given = RuleClassifier(class_weight={0: 1, 1: 9}).fit(X, y).predict(X)[y == 1].mean()
    assert plain < 0.3 < min(balanced, given)
    with pytest.raises(ConfigError, match="'balanced' or a mapping"):
        RuleClassifier(class_weight="even").fit(X, y)
    with pytest.raises(ValueError, match="at least 0"):
        RuleClassifier().fit(X, y, sample_weight=-np.ones(600))


@pytest.mark.parametrize(
    ("weights", "expected"),
    [([2, 4], [2, 4]), ([0.5, 1.25], [2, 5]), ([0.0, 0.1, 0.3], [0, 1, 3]), ([1000.0, 1e-4], None)],
)
def test_weights_become_repetitions_in_the_same_proportion(weights: list[float], expected: list[int] | None) -> None:
    found = repetitions(np.array(weights))
    if expected is not None:
        assert found.tolist() == expected
    else:  # beyond proportion: every row that counts is there at least once
        assert found.min() == 1 and found.sum() <= 100_001


def test_irregular_weights_are_rounded_to_a_thousandth() -> None:
    weights = np.random.default_rng(2).random(500) + 0.5
    found = repetitions(weights)
    assert np.allclose(found / found.sum(), weights / weights.sum(), rtol=0.02)


def test_arrays_of_strings_are_learned_as_frames_are(mixed: tuple[pd.DataFrame, pd.Series]) -> None:
    """Regression: an array of strings was refused, since it holds no numbers."""
    frame, label = mixed
    cells = frame.to_numpy()
    assert cells.dtype == object
    model = RuleClassifier().fit(cells, label.to_numpy().astype(object))
    assert model.score(cells, label) > 0.95
    shapes = frame[["shape"]].fillna("").to_numpy().astype(str)
    coded = np.column_stack([shapes[:, 0], frame["count"].astype(str).to_numpy(str)])
    assert coded.dtype.kind == "U"
    again = RuleClassifier().fit(coded, label)
    assert (
        again.score(coded, label)
        >= RuleClassifier().fit(frame[["shape", "count"]], label).score(frame[["shape", "count"]], label) - 1e-9
    )
    assert RuleFeatures().fit(coded, label).transform(coded).shape[0] == len(coded)
