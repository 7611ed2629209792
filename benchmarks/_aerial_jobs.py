"""Jobs of the Aerial benchmark. Each runs in its own process, so that peak memory is measured separately.

A job takes keyword arguments and returns numbers; it writes larger results to files in a given folder.
"""

from __future__ import annotations

import importlib
import re
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _aerial_tables import hanoi, plant, with_times, within
from numpy.typing import NDArray
from torch import Tensor

from thence.search.aerial.autoencoder import Autoencoder, Layout, initialise
from thence.search.aerial.extraction import RuleArrays, extract_itemsets, extract_rules, extract_top_rules
from thence.search.aerial.settings import SearchSettings, TrainingSettings
from thence.search.aerial.training import draw_visible_features, find_visible_items, train
from thence.search.neighbours import Neighbours

Numbers = dict[str, Any]


def peak_mb(device: str = "cpu") -> float:
    """Return the peak memory of this process; on a GPU, the peak memory of torch there."""
    if device == "cuda":
        return torch.cuda.max_memory_allocated() / 2**20
    status = Path("/proc/self/status")
    if status.exists():  # getrusage includes the memory of the parent at the time of the fork
        high = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        if high:
            return int(high[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def pyaerial(module: str) -> Any:
    """Import a module of pyaerial, whose package has the same name as the script ``aerial.py``."""
    here = str(Path(__file__).parent)
    sys.path[:] = [place for place in sys.path if str(Path(place or ".").resolve()) != here]
    try:
        return importlib.import_module(f"aerial.{module}")
    finally:
        sys.path.insert(0, here)


def clock(device: str = "cpu") -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


@dataclass(frozen=True)
class Start:
    """When something began, by the clock and in processor seconds of all threads of this process."""

    seconds: float
    processor: float

    @staticmethod
    def now(device: str = "cpu") -> Start:
        return Start(clock(device), time.process_time())

    def passed(self, device: str = "cpu") -> Numbers:
        """Return the seconds and the processor seconds since then."""
        seconds = clock(device) - self.seconds
        return {"seconds": seconds, "processor": time.process_time() - self.processor}


def quickest(times: list[Numbers]) -> Numbers:
    """Return the run that took the fewest seconds."""
    return min(times, key=lambda time: float(time["seconds"]))


def pyaerial_network(model: Autoencoder, codes: NDArray[Any]) -> Any:
    """Put our weights into the class of pyaerial, with all attributes that its training sets."""
    import pandas as pd

    counts = model.layout.cardinalities.tolist()
    names = [f"f{feature:04d}" for feature in range(len(counts))]
    peer = pyaerial("model").AutoEncoder(
        model.layout.n_items, len(counts), layer_dims=list(model.widths[: len(model.widths) // 2 + 1])
    )

    def linear(weight: Tensor, bias: Tensor) -> torch.nn.Linear:
        layer = torch.nn.Linear(weight.shape[1], weight.shape[0])
        layer.weight.data, layer.bias.data = weight.clone(), bias.clone()
        return layer

    inner = [layer for pair in model.hidden for layer in (linear(*pair), torch.nn.Tanh())]
    half = len(model.hidden) // 2 * 2
    peer.encoder = torch.nn.Sequential(linear(model.entry.T, model.entry_bias), torch.nn.Tanh(), *inner[:half])
    peer.decoder = torch.nn.Sequential(*inner[half:], linear(model.exit, model.exit_bias))
    offsets = model.layout.offsets
    peer.feature_value_indices = [
        {"feature": name, "start": int(offsets[at]), "end": int(offsets[at + 1])} for at, name in enumerate(names)
    ]
    peer.feature_values = [
        f"{name}__{code}" for name, count in zip(names, counts, strict=True) for code in range(count)
    ]
    one_hot = np.zeros((len(codes), model.layout.n_items), dtype=int)
    one_hot[np.arange(len(codes))[:, None], offsets[:-1] + codes] = 1
    peer.input_vectors = pd.DataFrame(one_hot, columns=peer.feature_values)
    return peer


class _SearchDone(Exception):  # noqa: N818 - nothing went wrong
    """Returns the rules of pyaerial before it measures them."""


def pyaerial_search(peer: Any, *, frequency: float, strength: float) -> NDArray[np.int64]:
    """Run only the search of pyaerial; return antecedent items (padded with −1) and consequent of each rule."""
    rule_extraction = pyaerial("rule_extraction")

    def stop(rules: list[Any], *_: Any, **__: Any) -> None:
        raise _SearchDone(rules)

    measure, rule_extraction.calculate_rule_metrics = rule_extraction.calculate_rule_metrics, stop
    try:
        rule_extraction.generate_rules(peer, min_rule_frequency=frequency, min_rule_strength=strength)
    except _SearchDone as done:
        found = done.args[0]
    else:
        found = []
    finally:
        rule_extraction.calculate_rule_metrics = measure
    rules = np.full((len(found), 3), -1, np.int64)
    for at, rule in enumerate(found):
        rules[at, : len(rule["antecedent_indices"])] = rule["antecedent_indices"]
        rules[at, 2] = rule["consequent_index"]
    return rules


def as_frame(codes: NDArray[Any]) -> Any:
    """Return codes as text of two digits, so that libraries that sort the values of a column keep their order."""
    import pandas as pd

    return pd.DataFrame({f"f{at:04d}": np.strings.zfill(codes[:, at].astype(str), 2) for at in range(codes.shape[1])})


def save_network(network: Autoencoder, folder: Path) -> None:
    """Write a network to a folder, as the model of a table whose features are numbers."""
    from thence.search.aerial.model import AerialModel, BlockModel

    names = tuple(map(str, range(network.layout.n_features)))
    AerialModel((BlockModel(np.arange(len(names)), names, network, 0.0, 0, meanings=names),)).save(folder)


def load_network(folder: Path) -> Autoencoder:
    """Read a network that ``save_network`` wrote."""
    from thence.search.aerial.model import AerialModel

    (block,) = AerialModel.load(folder).blocks
    assert block.network is not None
    return block.network


def train_and_save(*, sensors: int, model: str, tables: str, device: str) -> Numbers:
    codes, cardinalities = hanoi(sensors, Path(tables))
    result = train(codes, cardinalities=cardinalities, settings=TrainingSettings(device=device))
    save_network(result.model, Path(model))
    return {"loss": result.loss}


def compare(*, model: str, similarity: float, folder: str, side: str) -> Numbers:
    """Count the rules that only one side has, and measure how far their probabilities are from the threshold.

    pyaerial does not have the gate of Algorithm 1. For that comparison, its rules of all queries are filtered by the
    gate here, with the dense network in double precision.
    """
    with np.load(Path(folder) / f"{side}-cpu.npz") as ours:
        mine = ours["rules"]
    with np.load(Path(folder) / f"{'all' if side == 'gated' else side}-peer.npz") as peer:
        theirs = peer["rules"]
    network = load_network(Path(model)).to("cpu", torch.float64)
    gates = {"gated": _weakest, "mutual": _mutual}
    if side == "gated":
        left, number = np.unique(theirs[:, :2], axis=0, return_inverse=True)
        theirs = theirs[_weakest(network, left)[number.reshape(-1)] >= similarity]
    ours_set, theirs_set = ({tuple(rule) for rule in part.tolist()} for part in (mine, theirs))
    strange = np.array(sorted(ours_set ^ theirs_set), dtype=np.int64).reshape(-1, 3)
    out = _dense(network, strange[:, :2])
    distance = np.abs(out[np.arange(len(strange)), strange[:, 2]] - similarity)
    if side in gates and len(strange):
        distance = np.minimum(distance, np.abs(gates[side](network, strange[:, :2]) - similarity))
    return {
        "different": len(strange),
        "twice": len(mine) - len(ours_set) + len(theirs) - len(theirs_set),
        "furthest": float(distance.max(initial=0.0)),
    }


def _dense(network: Autoencoder, antecedents: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the output of the network for the test vectors of the paper."""
    layout = network.layout
    vectors = network.unknown().numpy()[None].repeat(len(antecedents), axis=0)
    for column in antecedents.T:
        rows = np.flatnonzero(column >= 0)
        owner = layout.feature_of_item[column[rows]]
        vectors[rows] = np.where(layout.feature_of_item == owner[:, None], 0.0, vectors[rows])
        vectors[rows, column[rows]] = 1.0
    return network.probabilities(torch.from_numpy(vectors)).numpy()


def _weakest(network: Autoencoder, antecedents: NDArray[np.int64]) -> NDArray[np.float64]:
    weakest = np.ones(len(antecedents))
    for low in range(0, len(antecedents), 4096):
        part = antecedents[low : low + 4096]
        out = _dense(network, part)
        for column in part.T:
            marked = out[np.arange(len(part)), np.maximum(column, 0)]
            weakest[low : low + 4096] = np.minimum(weakest[low : low + 4096], np.where(column >= 0, marked, 1.0))
    return weakest


def _mutual(network: Autoencoder, antecedents: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how strongly two items imply each other, or how strongly a single item implies itself."""
    left, right = antecedents[:, 0], np.where(antecedents[:, 1] < 0, antecedents[:, 0], antecedents[:, 1])
    rows = np.arange(len(antecedents))
    first, second = (_dense(network, column[:, None]) for column in (left, right))
    product = first[rows, left] * first[rows, right] * second[rows, left] * second[rows, right]
    return product ** np.where(antecedents[:, 1] < 0, 0.25, 0.5)


def extract_ours(
    *, model: str, similarity: float, gate: float, search: str, name: str, folder: str, device: str, repeat: int
) -> Numbers:
    network = load_network(Path(model)).to(device)
    wanted = SearchSettings(gate=gate, consequent=similarity, search=search)  # type: ignore[arg-type]
    times, asked = [], [0]
    for _ in range(repeat):
        start = Start.now(device)
        chunks = list(extract_rules(network, search=wanted, progress=lambda done, total: asked.append(done)))
        times.append(start.passed(device))
    high = peak_mb(device)
    rules = RuleArrays.concat(chunks, max_antecedents=2)
    np.savez(Path(folder) / name, rules=np.column_stack([rules.antecedents, rules.consequents]).astype(np.int64))
    return {**quickest(times), "rules": len(rules), "queries": asked[-1], "mb": high}


def ways_to_search(*, sensors: int, antecedents: int, tables: str, device: str) -> Numbers:
    """Search the same network with every kind of search and gate."""
    codes, cardinalities = hanoi(sensors, Path(tables))
    network = train(codes, cardinalities=cardinalities, settings=TrainingSettings(device=device)).model
    found: Numbers = {}
    for kind in ("full", "grow", "mutual"):
        asked = [0]
        search = SearchSettings(max_antecedents=antecedents, search=kind)
        start = Start.now(device)
        rules = 0
        for chunk in extract_rules(network, search=search, progress=lambda done, _, asked=asked: asked.append(done)):
            rules += len(chunk)
        took = start.passed(device)
        if kind == "mutual":  # checks all combinations, but queries the network only for single items and what passed
            passed = extract_itemsets(network, search=search)
            larger = sum(len(batch.items) for batch in passed if batch.items.shape[1] > 1)
            asked.append(network.layout.n_items + larger)
        found[kind] = {**took, "rules": rules, "queries": asked[-1]}
    return found


def same_rules(*, folder: str, names: list[str]) -> Numbers:
    """Check that files have the same rules."""
    found = []
    for name in names:
        with np.load(Path(folder) / name) as stored:
            found.append(stored["rules"][np.lexsort(stored["rules"].T)])
    return {"same": all(np.array_equal(found[0], other) for other in found[1:]), "rules": len(found[0])}


def extract_pyaerial(
    *, model: str, similarity: float, folder: str, sensors: int, tables: str, frequency: float, name: str, repeat: int
) -> Numbers:
    codes, _ = hanoi(sensors, Path(tables))
    peer = pyaerial_network(load_network(Path(model)), codes)
    times = []
    for _ in range(repeat):
        start = Start.now()
        rules = pyaerial_search(peer, frequency=frequency, strength=similarity)
        times.append(start.passed())
    np.savez(Path(folder) / name, rules=rules)
    return {**quickest(times), "rules": len(rules), "mb": peak_mb()}


def held_out_loss(forward: Any, cardinalities: list[int], codes: NDArray[Any], most: int) -> float:
    """Return the mean cross-entropy of a network with dense input on rows with one to ``most`` visible features."""
    layout = Layout.of(cardinalities)
    generator = torch.Generator().manual_seed(12345)
    shown = draw_visible_features(layout.n_features, rows=len(codes), most=most, generator=generator)
    targets = torch.from_numpy(codes.astype(np.int64))
    items = find_visible_items(layout, targets, shown)
    share = torch.from_numpy((1.0 / layout.cardinalities)[layout.feature_of_item]).float()
    total = 0.0
    for low in range(0, len(codes), 512):
        part = items[low : low + 512]
        dense = torch.cat([share.expand(len(part), -1), torch.zeros(len(part), 1)], dim=1)
        owner = torch.from_numpy(np.append(layout.feature_of_item, layout.n_features))
        marked = torch.zeros(len(part), layout.n_features + 1, dtype=torch.bool).scatter_(1, owner[part], True)
        marked[:, -1] = False
        dense.masked_fill_(marked[:, owner], 0.0).scatter_(1, part, 1.0)
        truth = torch.zeros(len(part), layout.n_items)
        truth.scatter_(1, targets[low : low + 512] + torch.from_numpy(layout.offsets[:-1]), 1.0)
        with torch.no_grad():
            out = forward(dense[:, :-1])
        total += float(torch.nn.functional.binary_cross_entropy(out, truth)) * len(part)
    return total / len(codes)


def _split(codes: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    order = np.random.default_rng(0).permutation(len(codes))
    return codes[order[2000:]], codes[order[:2000]]


def train_ours(*, sensors: int, epochs: int | None, tables: str, device: str) -> Numbers:
    codes, cardinalities = hanoi(sensors, Path(tables))
    known, unseen = _split(codes)
    if device == "cuda":
        torch.zeros(1, device=device)
    start = Start.now(device)
    result = train(known, cardinalities=cardinalities, settings=TrainingSettings(epochs=epochs, device=device))
    took = start.passed(device)
    forward = result.model.to("cpu").probabilities
    losses = {f"loss{most}": held_out_loss(forward, cardinalities, unseen, most) for most in (3, 10)}
    return {**took, "epochs": len(result.epochs), "mb": peak_mb(device), **losses}


def train_pyaerial(*, sensors: int, layers: list[int] | None, epochs: int, tables: str) -> Numbers:
    codes, cardinalities = hanoi(sensors, Path(tables))
    known, unseen = _split(codes)
    frame = as_frame(known)
    torch.manual_seed(0)
    start = Start.now()
    peer = pyaerial("model").train(frame, layer_dims=layers, epochs=epochs, show_progress=False, device="cpu")
    took = start.passed()
    if peer.input_vectors.shape[1] != sum(cardinalities):
        raise SystemExit("pyaerial saw other items than we did")
    ranges = [range(block["start"], block["end"]) for block in peer.feature_value_indices]
    losses = {
        f"loss{most}": held_out_loss(lambda dense: peer(dense, ranges), cardinalities, unseen, most) for most in (3, 10)
    }
    return {**took, "epochs": epochs, "mb": peak_mb(), **losses}


def job_ours(*, sensors: int, tables: str) -> Numbers:
    """Measure the whole job, from a frame to rules with measures."""
    import thence as th

    miner, read = th.Aerial(min_support=0.0001), th.TransactionTable.from_frame
    frame = as_frame(hanoi(sensors, Path(tables))[0])
    start = Start.now()
    rules = miner.mine(with_times(read(frame)))
    for name in ("support", "confidence", "zhang"):
        rules.measure(name)
    coverage = rules.data_coverage
    return {**start.passed(), "rules": len(rules), "coverage": coverage, "mb": peak_mb()}


def job_pyaerial(*, sensors: int, tables: str, layers: list[int] | None, epochs: int, frequency: float) -> Numbers:
    model, rule_extraction = pyaerial("model"), pyaerial("rule_extraction")
    frame = as_frame(hanoi(sensors, Path(tables))[0])
    torch.manual_seed(0)
    start = Start.now()
    peer = model.train(frame, layer_dims=layers, epochs=epochs, show_progress=False, device="cpu")
    found = rule_extraction.generate_rules(peer, min_rule_frequency=frequency, min_rule_strength=0.8)
    took = start.passed()
    coverage = found["statistics"].get("data_coverage", 0.0)
    return {**took, "rules": len(found["rules"]), "coverage": coverage, "mb": peak_mb()}


def exact_plant(*, sensors: int, zones: int | None, hops: int | None = None, device: str = "cpu") -> Numbers:
    """Count all rules with at most two antecedents, support 0.01 and confidence 0.8, without keeping them."""
    from thence.search.exact.search import SearchInput, mine_exact
    from thence.tables.bitmaps import bits

    place = None if device == "cpu" else torch.device(device)

    def count(codes: NDArray[Any], near: Neighbours | None) -> int:
        bitmaps, present = bits.pack_codes(codes, cardinalities=[10] * codes.shape[1])
        wanted: Numbers = {
            "feature_of_item": np.repeat(np.arange(codes.shape[1]), 10),
            "n_rows": len(codes),
            "present": present,
            "max_antecedents": 2,
            "min_support": "0.01",
            "min_confidence": "0.8",
        }
        return sum(len(block) for block in mine_exact(SearchInput.of(bitmaps, **wanted), near=near, device=place))

    codes = plant(sensors, zones=zones)
    count(codes[:1000, :4], None)  # loads the compiled code
    near = None if hops is None else Neighbours.of(within(sensors, hops))
    start = Start.now(device)
    found = count(codes, near)
    return {**start.passed(device), "rules": found, "mb": peak_mb(device)}


def aerial_plant(
    *, sensors: int, zones: int | None, hops: int | None, device: str, search: str, keep: int | None
) -> Numbers:
    """Train and extract on the synthetic plant, with all pairs of items or pairs within ``hops``.

    With ``keep``, the most probable rules are kept and the first of them counted; without it, rules are only counted.
    """
    codes = plant(sensors, zones=zones)
    near = None if hops is None else Neighbours.of(within(sensors, hops))
    extract_top_rules(
        initialise([2, 2, 2]).to(device), k=1, search=SearchSettings(gate=0.0, consequent=0.5)
    )  # loads compiled code and initialises the device
    start = Start.now(device)
    settings = TrainingSettings(device=device)
    result = train(codes, cardinalities=[10] * sensors, settings=settings, neighbours=near)
    trained = start.passed(device)["seconds"]
    asked, wanted = [0], SearchSettings(neighbours=near, search=search)  # type: ignore[arg-type]

    def note(done: int, total: int) -> None:
        asked[0] = done

    if keep is None:
        rules = RuleArrays.empty(2)
        found = sum(len(chunk) for chunk in extract_rules(result.model, search=wanted, progress=note))
    else:
        rules = extract_top_rules(result.model, k=keep, search=wanted, progress=note)
        found = len(rules)
    took = start.passed(device)
    return {
        **took,
        "train": trained,
        "extract": took["seconds"] - trained,
        "queries": asked[0],
        "loss": result.loss,
        "rules": found,
        "confidence": _mean_confidence(codes, rules),
        "mb": peak_mb(device),
    }


def _mean_confidence(codes: NDArray[Any], rules: RuleArrays, most: int = 2000) -> float:
    """Return the mean exact confidence of the first rules."""
    found = []
    for left, right in zip(rules.antecedents[:most], rules.consequents[:most], strict=True):
        holds = np.ones(len(codes), bool)
        for item in left[left >= 0]:
            holds &= codes[:, item // 10] == item % 10
        found.append(float((codes[holds, right // 10] == right % 10).mean()) if holds.any() else 0.0)
    return float(np.mean(found)) if found else 0.0


JOBS = {
    job.__name__: job
    for job in (
        train_and_save,
        ways_to_search,
        same_rules,
        compare,
        extract_ours,
        extract_pyaerial,
        train_ours,
        train_pyaerial,
        job_ours,
        job_pyaerial,
        exact_plant,
        aerial_plant,
    )
}
