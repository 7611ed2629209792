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
