"""Positions of nodes for a drawing: plain arrays in, plain arrays out, the same every time.

A connected graph is laid out so that distances in the plane are like those along edges (stress). With more than
``DENSE`` nodes a tree is drawn in rings around its middle, and of other graphs only the distances to some landmarks and
to neighbours count. Parts that are not connected are put side by side, without overlap, the largest first. Knows
nothing of graphs as objects.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]
Pairs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int64]

DENSE = 700
"""Up to so many nodes all distances are used."""
_LANDMARKS = 60
_STEPS = 60
_TALLEST, _WIDEST = 1 / 2.5, 2.5
_WANTED = 1.6
"""Width divided by height of a packed drawing."""


def arrange(n: int, edges: npt.ArrayLike) -> Points:
    """Return positions of the nodes of a graph, with edges of about unit length.

    Args:
        n: The number of nodes.
        edges: Pairs of nodes; directions, loops and repetitions do not matter.

    Examples:
        >>> places = arrange(3, [(0, 1), (1, 2)])
        >>> [round(float(np.linalg.norm(places[a] - places[b])), 2) for a, b in ((0, 1), (1, 2), (0, 2))]
        [1.0, 1.0, 2.0]
    """
    pairs = _clean(edges)
    out = np.zeros((n, 2))
    parts = find_parts(n, pairs)
    boxes = []
    for members in parts:
        renumber = np.full(n, -1, np.int64)
        renumber[members] = np.arange(len(members))
        inside = pairs[np.isin(pairs[:, 0], members)] if len(parts) > 1 else pairs
        boxes.append(_arrange_connected(len(members), renumber[inside]))
    for members, placed in zip(parts, pack(boxes), strict=True):
        out[members] = placed
    return out


def find_parts(n: int, edges: npt.ArrayLike) -> list[Ints]:
    """Return the nodes of each connected part, the largest part first, then the one with the first node.

    Args:
        n: The number of nodes.
        edges: Pairs of nodes.

    Examples:
        >>> [part.tolist() for part in find_parts(5, [(1, 3), (3, 4)])]
        [[1, 3, 4], [0], [2]]
    """
    pairs = _clean(edges)
    part = np.arange(n)
    while True:
        # Each node takes the lowest number that a neighbour has, then that of the node with this number.
        before = part.copy()
        lowest = np.minimum(part[pairs[:, 0]], part[pairs[:, 1]])
        np.minimum.at(part, pairs[:, 0], lowest)
        np.minimum.at(part, pairs[:, 1], lowest)
        np.minimum.at(part, before, part.copy())
        part = part[part]
        if np.array_equal(part, before):
            break
    order = np.argsort(part, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(part[order])) + 1) if n else []
    return sorted(groups, key=lambda members: (-len(members), int(members[0])))


def pack(boxes: Sequence[Points], *, gap: float = 1.0) -> list[Points]:
    """Move sets of points side by side so that their boxes do not overlap, in rows of about the same width.

    Args:
        boxes: The points of each box, in the order in which they are placed.
        gap: The distance between two boxes.

    Examples:
        >>> [box.tolist() for box in pack([np.zeros((1, 2)), np.zeros((1, 2))])]
        [[[0.0, 0.0]], [[1.0, 0.0]]]
    """
    sizes = [np.ptp(box, axis=0) if len(box) else np.zeros(2) for box in boxes]
    area = sum((size[0] + gap) * (size[1] + gap) for size in sizes)
    width = max([math.sqrt(area * _WANTED), *(float(size[0]) for size in sizes)], default=0.0)
    out, x, y, height = [], 0.0, 0.0, 0.0
    for box, size in zip(boxes, sizes, strict=True):
        if x > 0 and x + size[0] > width:
            x, y, height = 0.0, y + height + gap, 0.0
        out.append(box - (box.min(axis=0) if len(box) else 0.0) + np.array([x, y]))
        x, height = x + float(size[0]) + gap, max(height, float(size[1]))
    return out


def fit_unit_square(points: Points) -> tuple[Points, float]:
    """Return the points between 0 and 1, and width divided by height of the drawing.

    A drawing that is much wider than high, or the other way round, gets margins instead of being stretched.

    Args:
        points: The points; at least one.

    Examples:
        >>> places, aspect = fit_unit_square(np.array([[10.0, 5.0], [12.0, 6.0]]))
        >>> places.tolist(), aspect
        ([[0.0, 0.0], [1.0, 1.0]], 2.0)
    """
    low, size = points.min(axis=0), np.ptp(points, axis=0)
    longest = float(size.max())
    if not longest > 0:
        return np.full_like(points, 0.5), 1.0
    width = max(float(size[0]), float(size[1]) * _TALLEST)
    height = max(float(size[1]), float(size[0]) / _WIDEST)
    margin = (np.array([width, height]) - size) / 2
    return (points - low + margin) / np.array([width, height]), width / height


def place_between(points: Points, edges: npt.ArrayLike, *, steps: int = 200) -> Points:
    """Place the nodes without a position (NaN) between their neighbours; those that no path leads to stay NaN.

    A node with neighbours is put at the mean of their positions, again and again until nothing moves much.

    Args:
        points: Positions; NaN for those that are not known.
        edges: Pairs of nodes.
        steps: How often at most.

    Examples:
        >>> known = np.array([[0.0, 0.0], [np.nan, np.nan], [2.0, 4.0]])
        >>> place_between(known, [(0, 1), (1, 2)]).tolist()
        [[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]]
    """
    pairs = _clean(edges)
    out = points.astype(float).copy()
    free = np.isnan(out).any(axis=1)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    both = both[free[both[:, 0]]]
    if not len(both):
        return out
    extent = float(np.nanmax(np.ptp(out[~free], axis=0))) if (~free).any() else 0.0
    for _ in range(steps):
        known = ~np.isnan(out).any(axis=1)
        used = both[known[both[:, 1]]]
        count = np.bincount(used[:, 0], minlength=len(out))
        reached = count > 0
        total = np.stack([np.bincount(used[:, 0], out[used[:, 1], k], minlength=len(out)) for k in (0, 1)], axis=1)
        target = total[reached] / count[reached, None]
        moved = np.nan_to_num(np.abs(target - out[reached]), nan=np.inf).max() if reached.any() else 0.0
        out[reached] = target
        if moved <= 1e-4 * extent:
            break
    return out


def _clean(edges: npt.ArrayLike) -> Pairs:
    """Pairs of different nodes, each once, the lower number first."""
    pairs = np.asarray(edges, np.int64).reshape(-1, 2)
    pairs = np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1)
    return np.unique(pairs, axis=0) if len(pairs) else pairs


def _arrange_connected(n: int, edges: Pairs) -> Points:
    """Positions of a connected graph, turned so that its longest extent is from left to right."""
    if n == 1:
        return np.zeros((1, 2))
    if n == 2:
        return np.array([[0.0, 0.0], [1.0, 0.0]])
    if n <= DENSE:
        distances = _distances(n, edges)
        return _turned(_dense_stress(_initial(distances), distances))
    if len(edges) == n - 1:
        return _rings(n, edges)
    sources, distances = _landmarks(n, edges)
    return _turned(_sparse_stress(_initial(distances), distances, sources, edges))


def _neighbours(n: int, edges: Pairs) -> tuple[Ints, Ints]:
    """Neighbours in compressed rows: where the row of each node begins, and the neighbours."""
    both = np.concatenate([edges, edges[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    return np.searchsorted(both[:, 0], np.arange(n + 1)), both[:, 1]


def _distances(n: int, edges: Pairs) -> npt.NDArray[np.float32]:
    """Numbers of edges between all nodes of a connected graph, from all nodes at once: 64 of them in a word."""
    starts, others = _neighbours(n, edges)
    at = np.arange(n)
    seen = np.zeros((n, -(-n // 64)), np.uint64)
    seen[at, at // 64] = np.uint64(1) << (at % 64).astype(np.uint64)
    out = np.zeros((n, n), np.float32)
    for step in range(1, n + 1):
        reached = np.bitwise_or.reduceat(seen[others], starts[:-1], axis=0) | seen
        fresh = reached & ~seen
        if not fresh.any():
            break
        seen = reached
        bits = np.unpackbits(fresh.astype("<u8").view(np.uint8), axis=1, bitorder="little", count=n)
        out[bits.astype(bool)] = step
    return out


def _landmarks(n: int, edges: Pairs, *, most: int = _LANDMARKS) -> tuple[Ints, npt.NDArray[np.float32]]:
    """Nodes that are far from each other, each next one the farthest from those before, and the distances to all."""
    starts, others = _neighbours(n, edges)
    nearest = _breadth_first(n, starts, others, 0)
    chosen: list[int] = []
    rows = []
    for _ in range(min(most, n)):
        chosen.append(int(nearest.argmax()))
        rows.append(_breadth_first(n, starts, others, chosen[-1]))
        nearest = np.minimum(nearest, rows[-1]) if len(chosen) > 1 else rows[-1]
    return np.array(chosen, np.int64), np.stack(rows).astype(np.float32)


def _breadth_first(n: int, starts: Ints, others: Ints, source: int) -> Points:
    out = np.full(n, np.inf)
    out[source] = 0
    front = np.array([source])
    step = 0
    while len(front):
        step += 1
        sizes = starts[front + 1] - starts[front]
        index = np.repeat(starts[front] - np.cumsum(sizes) + sizes, sizes) + np.arange(int(sizes.sum()))
        found = np.unique(others[index])
        front = found[np.isinf(out[found])]
        out[front] = step
    return out


def _initial(distances: npt.NDArray[np.float32]) -> Points:
    """Classical scaling of the distances to the sources: the two directions in which they differ most."""
    squares = distances.astype(np.float64) ** 2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    _, vectors = np.linalg.eigh(centred @ centred.T)
    points = -0.5 * centred.T @ vectors[:, [-1, -2]]
    extent = np.abs(points).max(axis=0)
    points = points / np.where(extent > 1e-9, extent, 1.0) * float(distances.max()) / 2
    # Nodes with the same distances to all others, such as the leaves of a star, must not begin at the same place.
    angle = np.arange(points.shape[0]) * (math.pi * (3 - math.sqrt(5)))
    return np.asarray(points + 0.05 * np.stack([np.cos(angle), np.sin(angle)], axis=1))


def _dense_stress(points: Points, distances: npt.NDArray[np.float32]) -> Points:
    """Majorize the stress: each step solves for the positions that the distances ask for."""
    n = len(points)
    goal = distances.astype(np.float64)
    with np.errstate(divide="ignore"):
        weight = np.where(goal > 0, 1.0 / np.maximum(goal, 1e-9) ** 2, 0.0)
    laplacian = np.diag(weight.sum(axis=1)) - weight
    inverse = np.linalg.inv(laplacian + 1.0 / n)
    pull = weight * goal
    for _ in range(_STEPS if n <= 300 else _STEPS // 2):
        apart = np.sqrt(np.maximum(_squared(points), 1e-12))
        ratio = pull / apart
        np.fill_diagonal(ratio, 0.0)
        moved = inverse @ (ratio.sum(axis=1)[:, None] * points - ratio @ points)
        change = float(np.abs(moved - points).max())
        points = moved
        if change < 1e-3:
            break
    return points


def _squared(points: Points) -> Points:
    norms = (points**2).sum(axis=1)
    return np.asarray(norms[:, None] + norms[None, :] - 2 * points @ points.T)


def _sparse_stress(points: Points, distances: npt.NDArray[np.float32], sources: Ints, edges: Pairs) -> Points:
    """Move each node to where its landmarks and neighbours want it, with near neighbours kept apart."""
    n, k = len(points), len(sources)
    goal = distances.T.astype(np.float64)
    weight = np.where(goal > 0, 1.0 / np.maximum(goal, 1.0) ** 2, 0.0)
    both = np.concatenate([edges, edges[:, ::-1]])
    degree = np.bincount(both[:, 0], minlength=n)
    pull = np.maximum(1.0, 0.1 * k / np.maximum(degree, 1))[both[:, 0]]
    for step in range(_STEPS):
        total = np.zeros((n, 2))
        mass = weight.sum(axis=1)
        for first in range(0, k, 16):
            part = slice(first, first + 16)
            apart = points[:, None, :] - points[sources[part]][None, :, :]
            length = np.maximum(np.sqrt((apart**2).sum(axis=2)), 1e-6)
            wanted = points[sources[part]][None, :, :] + apart * (goal[:, part] / length)[:, :, None]
            total += (wanted * weight[:, part, None]).sum(axis=1)
        apart = points[both[:, 0]] - points[both[:, 1]]
        length = np.maximum(np.sqrt((apart**2).sum(axis=1)), 1e-6)
        wanted = points[both[:, 1]] + apart / length[:, None]
        for axis in (0, 1):
            total[:, axis] += np.bincount(both[:, 0], wanted[:, axis] * pull, minlength=n)
        mass = mass + np.bincount(both[:, 0], pull, minlength=n)
        points = 0.3 * points + 0.7 * total / mass[:, None]
        points = points + 0.3 * (1 - step / _STEPS) * _spread(points, shift=step * (math.sqrt(5) - 1) / 2)
    return points


def _spread(points: Points, *, shift: float) -> Points:
    """The way out of crowded cells: away from the middle of the nodes that share a cell of unit size."""
    cells = np.floor(points + np.array([shift, 1.7 * shift])).astype(np.int64)
    _, number = np.unique(cells, axis=0, return_inverse=True)
    number = number.ravel()
    count = np.bincount(number)
    middle = np.stack([np.bincount(number, points[:, k]) for k in (0, 1)], axis=1) / count[:, None]
    away = points - middle[number]
    length = np.maximum(np.sqrt((away**2).sum(axis=1)), 1e-6)[:, None]
    crowded = (count[number] > 1)[:, None]
    return np.asarray(np.where(crowded, away / length, 0.0) * np.minimum(np.sqrt(count[number]) - 1, 2.0)[:, None])


def _rings(n: int, edges: Pairs) -> Points:
    """A tree in rings around its middle: each node has the angle between those of its first and its last leaf."""
    starts, others = _neighbours(n, edges)
    one_end = int(_breadth_first(n, starts, others, 0).argmax())
    from_one = _breadth_first(n, starts, others, one_end)
    from_other = _breadth_first(n, starts, others, int(from_one.argmax()))
    middle = int(np.maximum(from_one, from_other).argmin())
    depth = _breadth_first(n, starts, others, middle).astype(np.int64)
    parent = np.full(n, -1)
    inner, outer = np.where(depth[edges[:, :1]] < depth[edges[:, 1:]], edges, edges[:, ::-1]).T
    parent[outer] = inner
    by_depth = np.argsort(-depth, kind="stable")[:-1]  # all but the middle, the outermost first
    leaves = np.zeros(n)
    leaves[np.bincount(inner, minlength=n) == 0] = 1.0
    for one in by_depth.tolist():
        leaves[parent[one]] += leaves[one]
    begin, used = np.zeros(n), np.zeros(n)
    for one in by_depth[::-1].tolist():
        begin[one] = begin[parent[one]] + used[parent[one]]
        used[parent[one]] += leaves[one]
    angle = (begin + leaves / 2) / leaves[middle] * 2 * math.pi
    return np.stack([depth * np.cos(angle), depth * np.sin(angle)], axis=1)


def _turned(points: Points) -> Points:
    """The points with their longest extent from left to right, and most of the weight of the ends at the left."""
    centred = points - points.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    turned = centred @ vectors[:, ::-1]
    # The signs of the vectors are arbitrary: the first node is never right of or below the middle.
    return np.asarray(turned * np.where(turned[0] > 0, -1.0, 1.0))
