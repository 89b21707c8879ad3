"""A map of a graph: linked nodes are near each other, all others apart.

The map minimises the divergence of t-SNE (van der Maaten and Hinton, JMLR 9, 2008). With p_ij the
share that the link i-j has in all links, after each node's links were scaled to sum to one, and
q_ij = 1 / (1 + |x_i - x_j|^2) / Z over all pairs, the nodes move along

    sum over j of  (exaggeration p_ij - q_ij) (x_i - x_j) / (1 + |x_i - x_j|^2).

The sum over all pairs is a convolution: nodes are spread on a grid and the fast Fourier transform
sums them (Linderman and others, Nature Methods 16, 2019).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import fft, sparse, spatial
from scipy.sparse import linalg

from sketchlasso.graphs.graph import links_of
from sketchlasso.linalg.seeds import RandomState, seed_of
from sketchlasso.types import FloatArray, IntArray

# Steps, exaggeration and momentum: groups find their places first, then nodes.
STAGES = ((150, 12.0, 0.5), (150, 4.0, 0.8), (200, 1.5, 0.8))
# Width of a cell, in widths of the kernel.
CELL = 0.5


def force_layout(graph: Any, *, random_state: RandomState = 0) -> dict[str, FloatArray]:
    """Return places on a map: linked nodes near each other, groups apart.

    Nodes without links form a ring around the others.

    Parameters
    ----------
    graph : networkx.Graph
    random_state : int, Generator, RandomState or None

    Returns
    -------
    dict of str to ndarray of shape (2,)
        Places in the unit disc, as networkx draws them.
    """
    links = links_of(graph)
    linked = links.degrees > 0
    places = np.zeros((len(linked), 2))
    if linked.any():
        edges = (np.cumsum(linked) - 1)[links.edges]
        generator = np.random.default_rng(seed_of(random_state))
        places[linked] = _linked_layout(edges, np.abs(links.weights), int(linked.sum()), generator)
    places[~linked] = _ring(int((~linked).sum()), inner=1.1 if linked.any() else 0.0)
    return dict(zip(graph, places / np.linalg.norm(places, axis=1).max(initial=1.0), strict=True))


def _linked_layout(
    edges: IntArray, weights: FloatArray, nodes: int, generator: np.random.Generator
) -> FloatArray:
    """Return places (nodes, 2) in the unit disc of nodes that all have edges (n_edges, 2)."""
    i, j = edges.T
    total: Any = np.bincount(i, weights, nodes) + np.bincount(j, weights, nodes)
    shares = weights * (1 / total[i] + 1 / total[j]) / (2 * nodes)
    # A step that suits most nodes would be too large for those with very many links.
    pull = np.bincount(i, shares, nodes) + np.bincount(j, shares, nodes)
    pace = (nodes / 3 / np.maximum(1, nodes * pull))[:, None]
    places = _start(i, j, weights, total, generator)
    move, gain = np.zeros_like(places), np.ones_like(places)
    grid = _Grid()
    for steps, exaggeration, momentum in STAGES:
        for _ in range(steps):
            slope = exaggeration * _pull(i, j, shares, places) - grid.push(places)
            same = slope * move > 0
            gain = np.maximum(np.where(same, 0.8 * gain, gain + 0.2), 0.01)
            move = momentum * move - pace * gain * slope
            places = places + move
            places -= places.mean(axis=0)
    places = _in_disc(places)
    # In larger graphs there is no room.
    return _in_disc(_apart(places)) if nodes <= 2000 else places


def _in_disc(places: FloatArray) -> FloatArray:
    return places / max(float(np.linalg.norm(places, axis=1).max()), np.finfo(float).tiny)


def _apart(places: FloatArray) -> FloatArray:
    """Return places (nodes, 2) that do not overlap, as the leaves of one hub would."""
    count = len(places)
    least = min(0.08, 0.3 / np.sqrt(count))
    # Nodes that coincide have no direction to move in; golden angles give each its own.
    angles = np.pi * (3 - np.sqrt(5)) * np.arange(count)
    places = places + 1e-3 * least * np.column_stack([np.cos(angles), np.sin(angles)])
    for _ in range(60):
        i, j = spatial.cKDTree(places).query_pairs(least, output_type="ndarray").T
        if len(i) == 0:
            break
        along = places[i] - places[j]
        far = np.linalg.norm(along, axis=1, keepdims=True)
        push = (least - far) * along / np.maximum(far, np.finfo(float).tiny)
        total = _at_ends(i, j, push, count)
        # The mean of all pushes: their sum would be too large where many nodes overlap.
        places = (
            places + total / np.maximum(1, np.bincount(np.append(i, j), minlength=count))[:, None]
        )
    return places


def _ring(count: int, inner: float) -> FloatArray:
    """Return places (count, 2) for nodes without edges, from the radius `inner` outwards."""
    number = np.arange(count)
    # As in a sunflower: equal area per node, each turned by the golden angle.
    radius = np.sqrt(inner**2 + number * (0.5 / max(count, 200)))
    angle = number * np.pi * (3 - np.sqrt(5))
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def _start(
    i: IntArray, j: IntArray, weights: FloatArray, total: FloatArray, generator: np.random.Generator
) -> FloatArray:
    """Return the smoothest functions on the graph, small, with noise to separate equal nodes."""
    nodes = len(total)
    noise = generator.standard_normal((nodes, 2))
    if nodes <= 10:
        return 1e-2 * noise
    root = 1 / np.sqrt(total)
    values = weights * root[i] * root[j]
    A: Any = sparse.csr_array((values, (i, j)), shape=(nodes, nodes))
    try:
        _, found = linalg.eigsh(A + A.T, k=3, which="LA", v0=noise[:, 0], tol=1e-2, maxiter=500)
    except linalg.ArpackError:  # a worse start gives as good a result
        return 1e-2 * noise
    smooth = root[:, None] * found[:, :2]
    smooth = (smooth - smooth.mean(axis=0)) / np.maximum(smooth.std(axis=0), 1e-12)
    # A few nodes far out would squeeze all the others together.
    return 1e-2 * (np.clip(smooth, -3, 3) + 0.1 * noise)


def _pull(i: IntArray, j: IntArray, shares: FloatArray, places: FloatArray) -> FloatArray:
    """Return the sum over links of p_ij (x_i - x_j) / (1 + |x_i - x_j|^2): shape (nodes, 2)."""
    apart = places[i] - places[j]
    along = (shares / (1 + np.einsum("ed,ed->e", apart, apart)))[:, None] * apart
    return _at_ends(i, j, along, len(places))


def _at_ends(i: IntArray, j: IntArray, along: FloatArray, count: int) -> FloatArray:
    """Sum vectors (e, 2) of pairs i, j (e,) at their ends, forwards and backwards: (count, 2)."""
    return np.column_stack(
        [np.bincount(i, part, count) - np.bincount(j, part, count) for part in along.T]
    )


class _Grid:
    """Sums over all pairs, on a square grid of cells."""

    def __init__(self) -> None:
        self._cells = 0
        self._kernels: list[Any] = []

    def push(self, places: FloatArray) -> FloatArray:
        """Return the sum over j of q_ij (x_i - x_j) / (1 + |x_i - x_j|^2): shape (nodes, 2)."""
        low = places.min(axis=0)
        width = float((places.max(axis=0) - low).max())
        cells = min(512, max(32, 16 * int(np.ceil((width / CELL + 2) / 16))))
        cell = max(CELL, width / (cells - 2))
        if cells != self._cells or cell != CELL:
            self._prepare(cells, cell)
        corner, inside = np.divmod((places - low) / cell, 1.0)
        size = 2 * cells
        first = corner.astype(np.intp) @ np.array([size, 1])
        near = [
            (
                first + right * size + up,
                np.abs(1 - right - inside[:, 0]) * np.abs(1 - up - inside[:, 1]),
            )
            for right in (0, 1)
            for up in (0, 1)
        ]
        density = sum(np.bincount(at, share, size * size) for at, share in near)
        spectrum = fft.rfft2(np.asarray(density, dtype=np.float32).reshape(size, size))
        fields = [fft.irfft2(spectrum * k, s=(size, size)).ravel() for k in self._kernels]
        total, x, y = (sum(share * field[at] for at, share in near) for field in fields)
        # The first sum includes every node's pair with itself.
        pairs = max(float(np.sum(total)) - len(places), 1e-9)
        return np.column_stack([x, y]) / pairs

    def _prepare(self, cells: int, cell: float) -> None:
        self._cells = cells if cell == CELL else 0
        steps = (cell * np.fft.fftfreq(2 * cells, 1 / (2 * cells))).astype(np.float32)
        x, y = steps[:, None], steps[None, :]
        kernel = 1 / (1 + x * x + y * y)
        parts = (kernel, x * kernel**2, y * kernel**2)
        self._kernels = [fft.rfft2(part) for part in parts]
