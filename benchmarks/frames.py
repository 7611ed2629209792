"""Plain tables: Thence compared with mlxtend and pyaerial on three tables that scikit-learn ships or makes.

    python benchmarks/frames.py                 three splits of each table; some minutes
    python benchmarks/frames.py --quick         one split of the smallest table
    python benchmarks/frames.py --only thence   contenders whose name holds a word

A contender is the code that a user would write to get rules about the class from a data frame. It is run as it stands
in ``CODE``, and its statements are counted in it. Every contender runs in a process of its own, with a time limit;
seconds are those of its second run, so that imports and compilation are not in them. Peers run at their defaults and at
the setting of ``CODE`` with the best accuracy that we found for them.

All rules are then judged alike, on the raw columns: counts on the training rows, and the accuracy of the best rule that
applies (``RuleSet.predict``) on the test rows, with the most frequent class where none applies. For the estimators it
is the accuracy of their own ``predict``.

Two further contenders mine on the bins of a peer, so that only the search differs: on those of mlxtend the rules must
be the same (but for rules whose confidence is exactly the threshold, of which mlxtend loses some), and on those of
pyaerial as many rules are kept as it finds, the best by Zhang's metric.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

# This folder has a script called aerial.py, which must not hide the package of that name.
sys.path[:] = [path for path in sys.path if Path(path or ".").resolve() != Path(__file__).resolve().parent]

TABLES = ("wine", "breast cancer", "made")
TARGET = "class"
LIMIT = 600
CODE = {
    "thence": """
import thence as th
rules = th.mine(train, target="class", progress="off").rules
predicted = rules.predict(test)
""",
    "thence RuleClassifier(vote='best')": """
import thence as th
model = th.estimators.RuleClassifier(vote="best").fit(train.drop(columns="class"), train["class"])
predicted = model.predict(test.drop(columns="class"))
""",
    "thence RuleClassifier()": """
import thence as th
model = th.estimators.RuleClassifier().fit(train.drop(columns="class"), train["class"])
predicted = model.predict(test.drop(columns="class"))
""",
    "mlxtend, defaults": """
import pandas as pd
from mlxtend.frequent_patterns import association_rules, fpgrowth
binned = train.drop(columns="class").apply(lambda column: pd.qcut(column, 5, duplicates="drop")).astype(str)
onehot = pd.get_dummies(binned.assign(**{"class": train["class"].astype(str)}), prefix_sep="=").astype(bool)
itemsets = fpgrowth(onehot, use_colnames=True)
table = association_rules(itemsets)
rules = table[table["consequents"].map(lambda one: len(one) == 1 and next(iter(one)).startswith("class="))]
""",
    "mlxtend, best": """
import pandas as pd
from mlxtend.frequent_patterns import association_rules, fpgrowth
binned = train.drop(columns="class").apply(lambda column: pd.qcut(column, 10, duplicates="drop")).astype(str)
onehot = pd.get_dummies(binned.assign(**{"class": train["class"].astype(str)}), prefix_sep="=").astype(bool)
itemsets = fpgrowth(onehot, min_support=0.01, max_len=3, use_colnames=True)
table = association_rules(itemsets, metric="confidence", min_threshold=0.8)
rules = table[table["consequents"].map(lambda one: len(one) == 1 and next(iter(one)).startswith("class="))]
""",
    "pyaerial, defaults": """
from aerial import discretization, model, rule_extraction
binned = discretization.equal_frequency_discretization(train.drop(columns="class")).astype(str)
table = binned.assign(**{"class": train["class"].astype(str)})
network = model.train(table, show_progress=False)
rules = rule_extraction.generate_rules(network, target_classes=["class"])["rules"]
""",
    "pyaerial, best": """
from aerial import discretization, model, rule_extraction
binned = discretization.entropy_based_discretization(train, "class").drop(columns="class").astype(str)
table = binned.assign(**{"class": train["class"].astype(str)})
network = model.train(table, show_progress=False)
rules = rule_extraction.generate_rules(
    network, target_classes=["class"], min_rule_frequency=0.01, min_rule_strength=0.3, filter_min_confidence=0.8
)["rules"]
""",
    "thence on mlxtend's bins": """
import pandas as pd
import thence as th
binned = train.drop(columns="class").apply(lambda column: pd.qcut(column, 10, duplicates="drop")).astype(str)
table = binned.assign(**{"class": train["class"].astype(str)})
rules = th.mine(
    table, target="class", min_support=0.01, max_antecedents=2, min_confidence=0.8, refine=None, progress="off"
).rules
""",
    "thence on pyaerial's bins, as many rules": """
import thence as th
from aerial import discretization
binned = discretization.entropy_based_discretization(train, "class").drop(columns="class").astype(str)
table = binned.assign(**{"class": train["class"].astype(str)})
rules = th.mine(
    table, target="class", min_support=0.002, max_antecedents=2, min_confidence=0.8, refine=None, progress="off"
).rules.top(as_many, by="zhang")
""",
}
SAME_BINS = {"thence on mlxtend's bins": "mlxtend, best", "thence on pyaerial's bins, as many rules": "pyaerial, best"}
"""Contenders that use the bins of a peer, and that peer."""


def load(table: str) -> Any:
    """Load a table as a pandas frame with a column ``class``."""
    import pandas as pd
    from sklearn.datasets import load_breast_cancer, load_wine, make_classification

    if table == "made":
        numbers, classes = make_classification(n_samples=5000, n_features=20, n_informative=8, random_state=0)
        return pd.DataFrame(numbers, columns=[f"x{at}" for at in range(20)]).assign(**{TARGET: classes})
    data = (load_wine if table == "wine" else load_breast_cancer)(as_frame=True)
    return data.frame.rename(columns={"target": TARGET})


def split(table: str, seed: int) -> tuple[Any, Any]:
    """Split a table into rows to learn from and 30 % to test on, with the same share of each class."""
    from sklearn.model_selection import train_test_split

    frame = load(table)
    train, test = train_test_split(frame, test_size=0.3, random_state=seed, stratify=frame[TARGET])
    return train.reset_index(drop=True), test.reset_index(drop=True)


def statements(code: str) -> int:
    """Count the statements of a piece of code."""
    return sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(code)))


def item_of(column: str, label: str) -> Any:
    """The item that a label such as ``(0.5, 1.5]`` means."""
    import thence as th

    if column == TARGET:
        return th.Item.is_(th.language.Feature(column), float(label))
    low, high = (float(end) for end in label.strip("([])").split(","))
    above = -math.inf if math.isinf(low) else math.nextafter(low, math.inf)
    return th.Item.among(th.language.Feature(column), th.language.Interval(above, math.nextafter(high, math.inf)))


def as_pairs(rules: Any) -> Iterable[tuple[list[tuple[str, str]], str]]:
    """Antecedents and classes of the rules of a peer."""
    if isinstance(rules, list):
        for rule in rules:
            items = [(one["feature"], str(one["value"])) for one in rule["antecedents"]]
            yield items, str(rule["consequent"]["value"])
        return
    if not hasattr(rules, "iterrows"):
        for rule in rules:
            yield [(item.feature.subject, str(item.value)) for item in rule.antecedent], str(rule.consequent.value)
        return
    for _, row in rules.iterrows():
        items = [tuple(text.rsplit("=", 1)) for text in row["antecedents"]]
        yield items, next(iter(row["consequents"])).rsplit("=", 1)[1]


def as_rule_set(rules: Any, train: Any) -> Any:
    """The rules of a peer as a rule set, counted on the training rows."""
    import polars as pl

    import thence as th
    from thence.statements.rules.measures import Counts
    from thence.tables.matching import item_mask

    columns = {name: pl.Series(name, train[name].to_numpy()) for name in train.columns}
    masks: dict[Any, Any] = {}
    listed, counts = [], []
    for items, label in as_pairs(rules):
        rule = th.Rule(tuple(item_of(*item) for item in items), item_of(TARGET, label))
        for item in (*rule.antecedent, rule.consequent):
            if item not in masks:
                masks[item] = item_mask(item, columns[item.feature.subject])
        left = np.logical_and.reduce([masks[item] for item in rule.antecedent])
        right = masks[rule.consequent]
        listed.append(rule)
        counts.append([len(train), int(left.sum()), int(right.sum()), int((left & right).sum())])
    if not listed:
        return th.RuleSet.empty()
    return th.RuleSet.from_rules(listed, Counts.from_matrix(counts))


def require_same(rules: Any, others: Any) -> None:
    """Stop unless the rules are those of mlxtend; at a confidence of exactly 0.8 its rounding loses some of them."""
    known = {(frozenset(items), label) for items, label in as_pairs(others)}
    own = [(frozenset(items), label) for items, label in as_pairs(rules)]
    lost = np.array([one not in known for one in own], bool)
    exact = 5 * rules.counts.n_both == 4 * rules.counts.n_antecedent
    if known - set(own) or (lost & ~exact).any():
        sys.exit("on the same bins the rules of thence are not those of mlxtend")


def run(contender: str, table: str, seed: int) -> dict[str, Any]:
    """Run a contender twice on a split and judge its rules."""
    import logging

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    train, test = split(table, seed)
    code = compile(CODE[contender], contender, "exec")
    seconds = math.inf
    given: dict[str, Any] = {"train": train, "test": test}
    if contender in SAME_BINS:
        peer = dict(given)
        exec(compile(CODE[SAME_BINS[contender]], contender, "exec"), peer)
        given["as_many"] = len(peer["rules"])
    for _ in range(2):
        names = dict(given)
        begin = time.perf_counter()
        try:
            exec(code, names)
        except ValueError as error:  # mlxtend raises if no itemset is frequent
            if "is empty" not in str(error):
                raise
            names["rules"] = []
        seconds = time.perf_counter() - begin
    rules = names["model"].rules_ if "RuleClassifier" in contender else names["rules"]
    if contender == "thence on mlxtend's bins":
        require_same(rules, peer["rules"])
    if contender in SAME_BINS or not contender.startswith("thence"):
        rules = as_rule_set(rules, train)
    default = train[TARGET].mode()[0]
    if "RuleClassifier" in contender:
        predicted = names["predicted"]
    else:
        predicted = rules.predict(test, default=default) if len(rules) else np.full(len(test), default)
    covered = float(rules.applies(train).any(axis=1).mean()) if len(rules) else 0.0
    described = rules.describe()
    return {
        "seconds": seconds,
        "rules": len(rules),
        "confidence": described["mean_confidence"],
        "zhang": described["mean_zhang"],
        "covered": covered,
        "accuracy": float(np.mean(np.asarray(predicted) == test[TARGET].to_numpy())),
    }


def measure(contender: str, table: str, seed: int) -> dict[str, Any] | None:
    """Run a contender in a process of its own; ``None`` if it does not end in time."""
    command = [sys.executable, __file__, "--one", contender, table, str(seed)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        sys.exit(f"{contender} on {table} failed:\n{done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def mean(results: list[dict[str, Any]], name: str) -> float:
    """The mean of a figure over splits; NaN if no split has it."""
    known = [one[name] for one in results if one[name] is not None]
    return float(np.mean(known)) if known else math.nan


def report(table: str, found: dict[str, list[dict[str, Any]] | None]) -> None:
    """Print the rows of a table, and seconds relative to the first contender."""
    first = next((results for results in found.values() if results), None)
    base = mean(first, "seconds") if first else math.nan
    print(f"\n**{table}**\n")
    print("| | statements | seconds | × | rules | mean confidence | mean Zhang | rows covered | test accuracy |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for contender, results in found.items():
        n = statements(CODE[contender])
        if results is None:
            print(f"| {contender} | {n} | stopped after {LIMIT} s | | | | | | |")
            continue
        seconds = mean(results, "seconds")
        numbers = [f"{mean(results, name):.3f}".replace("nan", "–") for name in ("confidence", "zhang", "covered")]
        cells = [f"{seconds:.2f}", f"{seconds / base:.2g}", f"{mean(results, 'rules'):,.0f}", *numbers]
        print(f"| {contender} | {n} | {' | '.join(cells)} | {mean(results, 'accuracy'):.3f} |", flush=True)


def main() -> None:
    """Parse the command line and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one split of the smallest table")
    parser.add_argument("--splits", type=int, default=3, help="number of splits of each table")
    parser.add_argument("--only", default="", help="contenders whose name holds this word")
    parser.add_argument("--one", nargs=3, metavar=("CONTENDER", "TABLE", "SEED"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        contender, table, seed = given.one
        print(json.dumps(run(contender, table, int(seed))))
        return
    seeds = range(1 if given.quick else given.splits)
    for table in TABLES[:1] if given.quick else TABLES:
        found: dict[str, list[dict[str, Any]] | None] = {}
        for contender in (name for name in CODE if given.only in name):
            results = [measure(contender, table, seed) for seed in seeds]
            complete = [one for one in results if one is not None]
            found[contender] = complete if len(complete) == len(results) else None
        report(table, found)


if __name__ == "__main__":
    main()
