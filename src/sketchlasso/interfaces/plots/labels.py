"""Labels of lines and points that do not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sketchlasso.interfaces import as_drawn
from sketchlasso.interfaces.plots.canvas import Axes, extent_in_points, font_points, ink, settle
from sketchlasso.types import FloatArray

LINE_HEIGHT = 1.3  # in font sizes
# Of an average letter, in font sizes.
LETTER_WIDTH = 0.62
# Points between the end of a line and its label.
LEADER = 16.0
# Distances of a label from its point, in font sizes; all but the first need a leader.
DISTANCES = (0.35, 1.8, 3.4, 5.5, 8.0)
# Cost of a label that covers another one, more than all other costs together, and of one that
# leaves the frame. Each point that a label covers costs 1.
CROSSED, OUTSIDE = 1e6, 300
DIRECTIONS = ((1, 0), (-1, 0), (1, 1), (-1, 1), (0, 1), (1, -1), (-1, -1), (0, -1))


def spread(wanted: FloatArray, distance: float) -> FloatArray:
    """Return places in [0, 1] at least `distance` apart, as near as possible to the wanted ones.

    The i-th place less i distances comes from isotonic regression, least squares under the order.
    Where the places do not all fit, they share the room evenly.
    """
    from sklearn.isotonic import isotonic_regression

    count = len(wanted)
    if count > 1:
        distance = min(distance, 1.0 / (count - 1))
    order = np.argsort(wanted, kind="stable")
    steps = distance * np.arange(count)
    places = np.empty(count)
    places[order] = steps + isotonic_regression(
        wanted[order] - steps, y_min=0.0, y_max=max(0.0, 1.0 - distance * (count - 1))
    )
    return places


def label_line_ends(
    ax: Axes, lines: Sequence[Any], texts: Sequence[str], outside: bool
) -> list[Any]:
    """Name lines at their right ends, on axes with their final limits; return the annotations.

    Labels are right of the axes; if not `outside`, they are within them, and x is stretched.
    """
    if not lines:
        return []
    texts = list(map(as_drawn, texts))
    settle(ax)
    size = font_points()
    left = 1.03 if outside else _stretch(ax, (1.5 + max(map(len, texts))) * size)
    ends = [(float(line.get_xdata()[-1]), float(line.get_ydata()[-1])) for line in lines]
    wanted = ax.transAxes.inverted().transform(ax.transData.transform(ends))[:, 1]
    high = LINE_HEIGHT * size / extent_in_points(ax)[1]
    # Labels stay half a line away from the frame.
    room = 1.0 - high
    places = high / 2 + room * spread((wanted - high / 2) / room, high / room)
    return [
        ax.annotate(
            text,
            xy=end,
            xytext=(left, place),
            textcoords="axes fraction",
            va="center",
            fontsize=size,
            color=ink(ax),
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": line.get_color(),
                "linewidth": 0.9,
                "shrinkA": 1.0,
                "shrinkB": 0.0,
                "relpos": (0.0, 0.5),
            },
        )
        for line, text, end, place in zip(lines, texts, ends, places, strict=True)
    ]


def _stretch(ax: Axes, letters: float) -> float:
    """Make room for labels at the right end of a log scale; where they start, as a fraction."""
    wide = extent_in_points(ax)[0]
    share = min(0.45, (LETTER_WIDTH * letters + LEADER) / wide)
    first, last = ax.get_xlim()
    ax.set_xlim(first, last * (last / first) ** (share / (1.0 - share)))
    return 1.0 - share + LEADER / wide


def label_points(
    ax: Axes, points: FloatArray, texts: Sequence[str], others: FloatArray
) -> list[Any]:
    """Name points (l, 2), the most important first, on axes with their final limits.

    Each label is placed where it covers fewest of the points drawn, `others` (p, 2). A label that
    would overlap earlier ones is left out. Returns the annotations.
    """
    if not len(points):
        return []
    texts = list(map(as_drawn, texts))
    from matplotlib.transforms import Bbox

    settle(ax)
    size = font_points()
    pixels = ax.figure.dpi / 72.0  # of a point
    obstacles, frame = ax.transData.transform(others), ax.get_window_extent()
    taken: list[Bbox] = []
    written = []
    for place, text, point in zip(ax.transData.transform(points), texts, points, strict=True):
        extent = _extent(ax, text, size)
        centres = [
            place + np.array(direction) * (extent / 2 + far * size * pixels)
            for far in DISTANCES
            for direction in DIRECTIONS
        ]
        boxes = [Bbox([centre - extent / 2, centre + extent / 2]) for centre in centres]
        # A leader costs as much as two covered points.
        costs = [
            box.count_contains(obstacles)
            + CROSSED * any(map(box.fully_overlaps, taken))
            + OUTSIDE * (frame.count_contains(box.get_points()) < 2)
            + 2 * (number // len(DIRECTIONS))
            for number, box in enumerate(boxes)
        ]
        best = int(np.argmin(costs))
        if costs[best] >= CROSSED:
            continue
        taken.append(boxes[best])
        offset = (centres[best] - place) / pixels
        leader = {"arrowstyle": "-", "color": ink(ax), "linewidth": 0.6, "shrinkA": 0.0}
        written.append(
            ax.annotate(
                text,
                xy=(float(point[0]), float(point[1])),
                xytext=(float(offset[0]), float(offset[1])),
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize=size,
                color=ink(ax),
                arrowprops=leader if best >= len(DIRECTIONS) else None,
            )
        )
    return written


def _extent(ax: Axes, text: str, size: float) -> FloatArray:
    """Width and height (2,) of a text as it is drawn, in pixels, with a margin."""
    # Without a transform, because a logarithmic axis has no 0.
    probe = ax.text(0.0, 0.0, text, fontsize=size, transform=None)
    box = probe.get_window_extent()
    probe.remove()
    return np.array([box.width + 0.3 * box.height, box.height])
