"""Positions of nodes: the same every time, finite, with parts side by side and distances like those along edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.examples import examples
from thence.show.reports.layout import DENSE, arrange, find_parts, fit_unit_square, pack, place_between


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    n = draw(st.integers(1, 30))
    node = st.integers(0, n - 1)
    return n, draw(st.lists(st.tuples(node, node), max_size=50))


def parts_by_search(n: int, edges: list[tuple[int, int]]) -> set[frozenset[int]]:
    """The connected parts, found by a plain search."""
    around: dict[int, set[int]] = {one: set() for one in range(n)}
    for a, b in edges:
        around[a].add(b)
        around[b].add(a)
    out, left = set(), set(range(n))
    while left:
        found, front = set(), {left.pop()}
        while front:
            one = front.pop()
            found.add(one)
            front |= around[one] - found
        left -= found
        out.add(frozenset(found))
    return out


@given(graphs())
def test_parts_are_those_of_a_plain_search(graph: tuple[int, list[tuple[int, int]]]) -> None:
    n, edges = graph
    parts = find_parts(n, edges)
    assert {frozenset(part.tolist()) for part in parts} == parts_by_search(n, edges)
    assert [len(part) for part in parts] == sorted((len(part) for part in parts), reverse=True)


@settings(deadline=None, max_examples=examples(40))
@given(graphs())
def test_positions_are_finite_and_the_same_every_time(graph: tuple[int, list[tuple[int, int]]]) -> None:
    n, edges = graph
    points = arrange(n, edges)
    assert points.shape == (n, 2)
    assert np.isfinite(points).all()
    assert np.array_equal(points, arrange(n, edges))
    unit, aspect = fit_unit_square(points)
    assert (unit >= -1e-9).all()
    assert (unit <= 1 + 1e-9).all()
    assert 0.3 < aspect < 3


@settings(deadline=None, max_examples=examples(40))
@given(graphs())
def test_parts_do_not_overlap(graph: tuple[int, list[tuple[int, int]]]) -> None:
    n, edges = graph
    points = arrange(n, edges)
    boxes = [(points[part].min(axis=0), points[part].max(axis=0)) for part in find_parts(n, edges)]
    for at, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[at + 1 :]:
            apart = (low - other_high > 1e-6).any() or (other_low - high > 1e-6).any()
            assert apart


def test_nodes_of_a_star_are_apart_from_each_other() -> None:
    # Leaves have the same distances to all others, and began at the same place.
    points = arrange(12, [(0, leaf) for leaf in range(1, 12)])
    apart = np.linalg.norm(points[:, None] - points[None, :], axis=2)[~np.eye(12, dtype=bool)]
    assert apart.min() > 0.3


@pytest.mark.parametrize("shape", ["path", "grid"])
def test_distances_are_like_those_along_edges(shape: str) -> None:
    side = 5
    edges = [(at, at + 1) for at in range(24)]
    if shape == "grid":
        edges = [(at, at + 1) for at in range(25) if at % side < side - 1] + [(at, at + side) for at in range(20)]
    points = arrange(25, edges)
    lengths = [float(np.linalg.norm(points[a] - points[b])) for a, b in edges]
    assert 0.6 < min(lengths) <= max(lengths) < 1.4


def test_a_large_tree_is_drawn_in_rings() -> None:
    n = DENSE + 301
    edges = [((child - 1) // 3, child) for child in range(1, n)]
    points = arrange(n, edges)
    radius = np.linalg.norm(points - points[0], axis=1)
    # The root of this tree is its middle, and each ring holds the nodes of one depth.
    depth = np.zeros(n)
    for child in range(1, n):
        depth[child] = depth[(child - 1) // 3] + 1
    assert np.allclose(radius, depth)
    assert len(np.unique(np.round(points, 6), axis=0)) == n


def test_a_large_mesh_spreads_out() -> None:
    side = 30
    at = np.arange(side * side).reshape(side, side)
    edges = [
        *zip(at[:, :-1].ravel(), at[:, 1:].ravel(), strict=True),
        *zip(at[:-1].ravel(), at[1:].ravel(), strict=True),
    ]
    points = arrange(side * side, edges)
    lengths = np.linalg.norm(points[[a for a, _ in edges]] - points[[b for _, b in edges]], axis=1)
    assert np.isfinite(points).all()
    assert 0.5 < np.median(lengths) < 1.5
    # Opposite corners of a grid are far from each other.
    assert np.linalg.norm(points[0] - points[-1]) > side / 2


def test_packing_keeps_the_shape_of_each_box() -> None:
    boxes = [np.array([[0.0, 0.0], [4.0, 1.0]]), np.array([[5.0, 5.0], [6.0, 7.0]]), np.zeros((0, 2))]
    packed = pack(boxes)
    for before, after in zip(boxes[:2], packed[:2], strict=True):
        assert np.allclose(np.diff(before, axis=0), np.diff(after, axis=0))
    assert packed[2].shape == (0, 2)


def test_nodes_that_no_path_leads_to_have_no_place_between_others() -> None:
    known = np.array([[0.0, 0.0], [np.nan, np.nan], [np.nan, np.nan], [4.0, 2.0], [np.nan, np.nan]])
    placed = place_between(known, [(0, 1), (1, 2), (2, 3)])
    assert np.isnan(placed[4]).all()
    assert 0 < placed[1, 0] < placed[2, 0] < 4
    assert np.array_equal(placed[[0, 3]], known[[0, 3]])


def test_one_point_is_in_the_middle() -> None:
    points, aspect = fit_unit_square(np.array([[3.0, 4.0]]))
    assert points.tolist() == [[0.5, 0.5]]
    assert aspect == 1.0
