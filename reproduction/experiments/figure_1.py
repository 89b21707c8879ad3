"""Figure 1: the leading singular values of text sets, with the radius and the effective rank."""

from __future__ import annotations

from typing import Any

import numpy as np

import sketchlasso as sl
from reproduction.data import SEED, counts_of
from reproduction.drawing import PALETTE, drawn, tidy
from reproduction.experiment import Finding, Plan, Results, Say, Section, Sheet, judged
from reproduction.paper_figures import PAPER
from reproduction.words import count, listed, number, percent

TITLE = "Figure 1: singular values of text sets"

SETS = """
news20 20news_bydate rcv1 tmc2007_500 yahoo_education yahoo_reference bibtex imdb_all nips_uci
nips_1987_2003 kos nytimes_headlines
"""
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)))
# A set counts as well approximated when this share of its energy is in the values shown.
WELL = 0.5


def run(plan: Plan, say: Say) -> Section:
    """Singular values from one sketch per set, the radius from another of the usual rank."""
    values_shown = 20 if plan.quick else PAPER["figure_1"]["values_shown"]
    usual_rank = 10 if plan.quick else 50
    rows: list[Results] = []
    for name in ["made_text"] if plan.quick else SETS.split():
        X = counts_of(name, plan.rows)
        rank = min(values_shown, *X.shape)
        wide = sl.sketch(X, rank=rank, random_state=SEED)
        usual = sl.sketch(X, rank=min(usual_rank, rank), random_state=SEED)
        energy = float(X.multiply(X).sum())
        values = np.asarray(wide.singular_values, dtype=np.float64)
        rows.append(
            {
                "set": name,
                "samples": X.shape[0],
                "features": X.shape[1],
                "values": values,
                "radius_share": usual.radius / values[0],
                "effective_rank": energy / values[0] ** 2,
                "energy_share": float(np.sum(values**2)) / energy,
            }
        )
        say(f"{name}: {X.shape[0]:,} x {X.shape[1]:,}, {wide.cost.seconds:.1f} s")
    good = sum(row["energy_share"] >= WELL for row in rows)
    low, high = (pick(rows, key=lambda row: row["energy_share"]) for pick in (min, max))
    finding = Finding(
        "text data are low-rank, or nearly",
        "a figure of falling singular values",
        f"{count(good)} of {count(len(rows))} sets hold at least {percent(WELL)} of their energy "
        f"in {values_shown} values",
        judged(False, 2 * good >= len(rows)),
        f"The top {values_shown} singular values hold between {percent(low['energy_share'])} "
        f"({low['set']}) and {percent(high['energy_share'])} ({high['set']}) of the energy. "
        "The radius stands for what is left out.",
    )
    columns = (
        "set", "samples", "features", "effective rank", f"energy in {values_shown} values",
        "first / last value", f"radius at rank {usual_rank} / largest value",
    )  # fmt: skip
    table = [
        (
            row["set"],
            row["samples"],
            row["features"],
            number(row["effective_rank"]),
            percent(row["energy_share"]),
            number(row["values"][0] / row["values"][-1]),
            number(row["radius_share"]),
        )
        for row in rows
    ]
    caption = (
        "Singular values over the largest, on logarithmic axes. Dots: radius of a sketch of rank "
        f"{usual_rank}. Crosses: effective rank."
    )
    return Section(
        f"The top {values_shown} singular values of every text set, by a randomized sketch, as "
        "published (counts, or weights where weights are published) and not centred. The dot is "
        f"the radius of a sketch of rank {usual_rank}: a bound on the norm of what it leaves "
        "out. The cross is the effective rank ||X||_F^2 / ||X||_2^2.",
        "The paper does not say which sets its figure shows or how they were weighted. Sets here: "
        f"{listed([row['set'] for row in rows])}. Values are divided by the largest, so that sets "
        "can be compared.",
        [finding],
        [Sheet("Singular values", columns, table)],
        [drawn(lambda figure: _draw(figure, rows, usual_rank), (7.0, 4.2), caption)],
        rows,
    )


def _draw(figure: Any, rows: list[Results], usual_rank: int) -> None:
    ax = figure.add_subplot()
    for place, row in enumerate(rows):
        values = np.asarray(row["values"]) / row["values"][0]
        places = np.arange(1, len(values) + 1)
        colour = PALETTE[place % len(PALETTE)]
        style = DASHES[place // len(PALETTE)]
        ax.plot(places, values, color=colour, linestyle=style, label=row["set"])
        ax.plot([usual_rank], [row["radius_share"]], "o", color=colour, markersize=4)
        if row["effective_rank"] <= len(values):
            height = np.interp(row["effective_rank"], places, values)
            ax.plot([row["effective_rank"]], [height], "x", color=colour, markersize=7)
    tidy(ax, "number of the singular value", "singular value / largest", xscale="log", yscale="log")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
