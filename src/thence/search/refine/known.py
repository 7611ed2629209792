"""Rules that follow from known rules: they are true, and nobody needs to read them.

A rule follows from a known rule if it is given more (one of its items implies each item of the known antecedent) and
claims less (the known consequent implies its own), wherever it applies: its pattern is that of the known rule or a more
specific one. It also follows if several known rules lead from its antecedent to its consequent one after the other.
This is decided on the items, for any data. A rule that is more confident than the known rules says more than they do,
and does not follow from them. Nothing is counted here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
import numpy.typing as npt

from thence.data.graph.ontology import Ontology
from thence.errors import ConfigError
from thence.language.items import Aspect, Feature, Interval, Item, Operator, Role
from thence.language.patterns import Link, Pattern
from thence.statements.rules.ruleset import Rule, RuleSet
from thence.tables.bitmaps.bits import Bools

IsA = Callable[[str, str], bool]


def implies(item: Item, other: Item, *, is_a: IsA | None = None) -> bool:
    """Return whether every value that satisfies an item also satisfies another.

    Args:
        item: The item that is given.
        other: The item that may follow.
        is_a: Whether a class is another one or below it, for existential items; by default if the names are equal.

    Examples:
        >>> level = Feature("level")
        >>> low, lower = Item.compare(level, "<", 5.0), Item.among(level, Interval(1, 3))
        >>> implies(lower, low), implies(low, lower)
        (True, False)
    """
    if item.feature == other.feature:
        return _is_narrower(item, other)
    if item.feature.role is Role.SOME and other.feature.role is Role.SOME:
        return _holds_of_some(item, other, is_a or str.__eq__)
    return _has_such_a_value(item, other)


def _has_such_a_value(item: Item, other: Item) -> bool:
    """Some size of a pipe is 2–3: so some size of it is below 5."""
    own, wider = item.feature, other.feature
    if own.aspect is not Aspect.PROPERTY or not (own.where and wider.where) or not _is_claimed(item):
        return False
    same = replace(own, where=()) == replace(wider, where=())
    return same and _is_claimed(other) and _is_narrower(own.where[-1], wider.where[-1])


def _is_narrower(item: Item, other: Item) -> bool:
    if item == other:
        return True
    own = item.interval
    if own is not None:
        return other.holds(own)
    value = item.value
    if item.operator is Operator.EQ and not isinstance(value, (Interval, frozenset)):
        return other.holds(value)
    if item.operator is Operator.IN and isinstance(value, frozenset):
        return all(other.holds(member) for member in value)
    # Not to be one of several values excludes each of them.
    return other.operator in (Operator.NE, Operator.NOT_IN) and _is_narrower(other.negated(), item.negated())


def _holds_of_some(item: Item, other: Item, is_a: IsA) -> bool:
    """Some sensor in a Pipe reads 23–31: so some sensor in a Link reads more than 20."""
    if not (_is_claimed(item) and _is_claimed(other)) or _kind(item.feature) != _kind(other.feature):
        return False
    host, wider = item.feature.subject, other.feature.subject
    if wider and not (host and is_a(host, wider)):
        return False
    *given, reading = item.feature.where
    *asked, claim = other.feature.where
    return _is_test_narrower(reading, claim) and all(
        any(_is_test_narrower(fact, condition) for fact in given if fact.feature.name == condition.feature.name)
        for condition in asked
    )


def _is_claimed(item: Item) -> bool:
    return item.operator is Operator.EQ and item.value is True


def _kind(feature: Feature) -> tuple[str, str, bool]:
    return feature.label, feature.name, feature.relative


def _is_test_narrower(item: Item, other: Item) -> bool:
    """The same of two tests of one quantity that stand in statements about different classes."""
    return _is_narrower(item, Item(item.feature, other.operator, other.value))


@dataclass(frozen=True)
class _Image:
    """A known rule in the variables of another pattern.

    Args:
        antecedent: The items on the left.
        consequent: The item on the right.
        known: Position of the known rule.
    """

    antecedent: tuple[Item, ...]
    consequent: Item
    known: int


def drop_known(
    rules: RuleSet, known: RuleSet, *, improvement: float = 0.0, ontology: Ontology | None = None
) -> RuleSet:
    """Drop rules that follow from known rules; a note says how many.

    Args:
        rules: The rules.
        known: The known rules, counted on the same data. Those that never applied there are not used. The "vice versa"
            of a rule that follows from them is not mentioned either.
        improvement: A rule whose confidence exceeds that of the known rules by more than this is kept.
        ontology: Classes and relations: a known rule about a class is known of its subclasses.

    Raises:
        ConfigError: If ``improvement`` is out of range.

    Examples:
        >>> import polars as pl
        >>> from thence.statements.counting.recount import recount
        >>> from thence.tables.transactions import TransactionTable
        >>> frame = pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"], "c": ["k", "l", "k"]})
        >>> table = TransactionTable.from_frame(frame)
        >>> rules = recount(np.array([[0, 4], [1, -1]]), np.array([2, 3]), table)
        >>> known = recount(np.array([[0]]), np.array([2]), table)
        >>> [rule.english for rule in drop_known(rules, known)]
        ['if a is y, then b is v']
    """
    if not 0 <= improvement <= 1:
        raise ConfigError(f"improvement must be between 0 and 1, got {improvement!r}")
    follows = find_known(rules, known, improvement=improvement, ontology=ontology)
    rules = _without_converses(rules, known, improvement, ontology)
    count = int(follows.sum())
    if not count:
        return rules
    which = "1 rule that follows" if count == 1 else f"{count:,} rules that follow"
    note = f"{which} from known rules {'is' if count == 1 else 'are'} left out"
    return replace(rules.take(np.flatnonzero(~follows)), notes=(*rules.notes, note))


def find_known(rules: RuleSet, known: RuleSet, *, improvement: float = 0.0, ontology: Ontology | None = None) -> Bools:
    """Return which rules follow from known rules; parameters as in ``drop_known``."""
    out = np.zeros(len(rules), bool)
    if not len(rules) or not len(known):
        return out
    is_a = str.__eq__ if ontology is None else ontology.is_a
    reached = rules.measure("confidence")
    certain = known.measure("confidence")
    own = np.full(len(rules), -1, np.int64) if rules.pattern_of is None else rules.pattern_of
    for at in np.unique(own).tolist():
        chosen = np.flatnonzero(own == at)
        pattern = "" if at < 0 else rules.patterns[at][0]
        images = [
            image
            for number in np.flatnonzero(~np.isnan(certain)).tolist()
            for image in _images(known.rule(number), number, pattern, ontology)
        ]
        if images:
            usable = certain[[image.known for image in images]] >= reached[chosen][:, None] - improvement
            out[chosen] = _find_following(rules, chosen, images, usable, is_a)
    return out


def _without_converses(rules: RuleSet, known: RuleSet, improvement: float, ontology: Ontology | None) -> RuleSet:
    """Return the rules without the "vice versa" of those whose other direction is known."""
    if "both_ways" not in rules.extras:
        return rules
    both = np.flatnonzero(np.asarray(rules.extras["both_ways"], bool))
    if not len(both):
        return rules
    slots = rules.antecedents[both]
    which, slot = np.nonzero(slots >= 0)
    own = both[which]
    counts = rules.counts[own]
    turned = replace(
        rules.take(own),
        antecedents=rules.consequents[own][:, None],
        consequents=slots[which, slot],
        counts=replace(counts, n_antecedent=counts.n_consequent, n_consequent=counts.n_antecedent),
    )
    follows = find_known(turned, known, improvement=improvement, ontology=ontology)
    left = np.bincount(which, ~follows, minlength=len(both))
    both_ways = np.array(rules.extras["both_ways"])
    both_ways[both[left == 0]] = False
    return replace(rules, extras={**rules.extras, "both_ways": both_ways})


def _find_following(
    rules: RuleSet, chosen: npt.NDArray[np.int64], images: Sequence[_Image], usable: Bools, is_a: IsA
) -> Bools:
    """Return which of some rules follow from known rules, of which only some may be used for each rule."""
    conditions = list(dict.fromkeys(item for image in images for item in image.antecedent))
    place = {item: at for at, item in enumerate(conditions)}
    left, right = rules.antecedents[chosen], rules.consequents[chosen]
    used = np.unique(np.concatenate([left[left >= 0], right])).tolist()
    given = np.zeros((len(rules.items) + 1, len(conditions)), bool)  # the last row is padding
    claims = np.zeros((len(images), len(rules.items)), bool)
    for i in used:
        given[i] = [implies(rules.items[i], condition, is_a=is_a) for condition in conditions]
        claims[:, i] = [implies(image.consequent, rules.items[i], is_a=is_a) for image in images]
    leads = np.array([[implies(one.consequent, c, is_a=is_a) for c in conditions] for one in images], bool)
    met = np.zeros((len(chosen), len(conditions)), bool)
    for slot in range(left.shape[1]):
        met |= given[left[:, slot]]
    needs = [[place[item] for item in image.antecedent] for image in images]
    derived = np.zeros((len(chosen), len(images)), bool)
    while True:
        # What one known rule states may be what another one needs.
        more = usable & np.stack([met[:, columns].all(axis=1) for columns in needs], axis=1)
        if (more == derived).all():
            break
        derived = more
        met |= (derived.astype(np.int32) @ leads.astype(np.int32)) > 0
    return np.asarray((derived & claims[:, right].T).any(axis=1))


def _images(rule: Rule, number: int, pattern: str, ontology: Ontology | None) -> Iterator[_Image]:
    """Yield a known rule in the variables of a pattern, once for each way in which its own pattern lies within it."""
    if not rule.pattern or not pattern:
        if rule.pattern == pattern:
            yield _Image(rule.antecedent, rule.consequent, number)
        return
    within = Pattern.parse(pattern)
    for renaming in _embed(Pattern.parse(rule.pattern), within, ontology):
        left = tuple(_renamed(item, renaming, within) for item in rule.antecedent)
        yield _Image(left, _renamed(rule.consequent, renaming, within), number)


def _renamed(item: Item, renaming: Mapping[str, str], within: Pattern) -> Item:
    feature = item.feature
    if feature.role is not Role.VARIABLE:
        return item
    subject = renaming.get(feature.subject, feature.subject)
    # The class in the text of a property is that of its variable, which may be more specific here.
    own = feature.aspect is Aspect.PROPERTY and any(node.name == subject for node in within.nodes)
    label = within.label_of(subject) if own else feature.label
    other = renaming.get(feature.other, feature.other)
    if feature.is_link:
        subject, other, label = _link_between(subject, other, feature.label, within)
    moved: Feature = replace(feature, subject=subject, other=other, label=label)
    return replace(item, feature=moved)


def _link_between(one: str, other: str, label: str, within: Pattern) -> tuple[str, str, str]:
    """The ends and the relation of a link as a pattern names them; its relation may be more specific there."""
    between = [link for link in within.links if {link.source, link.target} == {one, other}]
    chosen = next((link for link in between if link.label == label), between[0] if between else None)
    if chosen is None:
        return one, other, label
    ends = (chosen.source, chosen.target) if chosen.directed else sorted((chosen.source, chosen.target))
    return ends[0], ends[1], chosen.label


def _embed(small: Pattern, large: Pattern, ontology: Ontology | None) -> Iterator[dict[str, str]]:
    """Yield the renamings of variables under which whatever matches ``large`` also matches ``small``."""
    if not {str(role) for role in small.roles} <= {str(role) for role in large.roles}:
        return
    if len(small.nodes) > len(large.nodes):
        return
    for chosen in permutations(large.nodes, len(small.nodes)):
        if small.roles and chosen[0] != large.nodes[0]:
            continue  # the focus of a star
        nodes = {a.name: b.name for a, b in zip(small.nodes, chosen, strict=True)}
        fits = all(_is_class(b.label, a.label, ontology) for a, b in zip(small.nodes, chosen, strict=True))
        if fits and all(_has_link(link, nodes, large, ontology) for link in small.links):
            for sensors in _match_sensors(small, large, nodes):
                yield {**nodes, **sensors}


def _is_class(label: str, wider: str, ontology: Ontology | None) -> bool:
    return not wider or label == wider or (ontology is not None and bool(label) and ontology.is_a(label, wider))


def _has_link(link: Link, nodes: Mapping[str, str], large: Pattern, ontology: Ontology | None) -> bool:
    ends = (nodes[link.source], nodes[link.target])
    for other in large.links:
        same = (other.source, other.target) == ends and (other.directed or not link.directed)
        turned = (other.target, other.source) == ends and not link.directed
        named = not link.label or other.label == link.label
        named = named or (ontology is not None and ontology.is_relation(other.label, link.label))
        if named and (same or turned):
            return True
    return False


def _match_sensors(small: Pattern, large: Pattern, nodes: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield the choices of a different sensor variable for each one of the smaller pattern."""
    options = [
        [
            other.name
            for other in large.sensors
            if (other.host, other.kind, other.points) == (nodes[sensor.host], sensor.kind, sensor.points)
            and (sensor.optional or not other.optional)
        ]
        for sensor in small.sensors
    ]

    def extend(picked: dict[str, str]) -> Iterator[dict[str, str]]:
        if len(picked) == len(options):
            yield picked
            return
        sensor = small.sensors[len(picked)]
        for name in options[len(picked)]:
            if name not in picked.values():
                yield from extend({**picked, sensor.name: name})

    yield from extend({})
