"""Figure 1: the leading singular values of text sets, with the radius and the effective rank."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import sketchlasso as sl
from reproduction.data import SEED, counts_of
from reproduction.drawing import DASHES, PALETTE, tidy
from reproduction.experiment import Finding, Picture, Plan, Report, Results, Sheet
from reproduction.paper_figures import PAPER
from reproduction.words import count, listed, number, percent

TITLE = "Figure 1: singular values of text sets"

TEXT = (
    "news20",
    "20news_bydate",
    "rcv1",
    "tmc2007_500",
    "yahoo_education",
    "yahoo_reference",
    "bibtex",
    "imdb_all",
    "nips_uci",
    "nips_1987_2003",
    "kos",
    "nytimes_headlines",
)


def settings(plan: Plan) -> Results:
    """Every available text set."""
    return {
        "quick": plan.quick,
        "sets": ["made_text"] if plan.quick else list(TEXT),
        "rows": plan.rows,
        "values": 20 if plan.quick else PAPER["figure_1"]["values_shown"],
        "rank": 10 if plan.quick else 50,
        # A set counts as well approximated when this share of its energy is in the values shown.
        "well_approximated": 0.5,
    }


def compute(chosen: Results, report: Report) -> Results:
    """Singular values from one sketch per set, the radius from another of the usual rank."""
    rows = []
    for name in chosen["sets"]:
        X = counts_of(name, chosen["rows"])
        rank = min(chosen["values"], *X.shape)
        wide = sl.sketch(X, rank=rank, random_state=SEED)
        usual = sl.sketch(X, rank=min(chosen["rank"], rank), random_state=SEED)
        energy = float(X.multiply(X).sum())
        values = np.asarray(wide.singular_values, dtype=np.float64)
        rows.append(
            {
                "set": name,
                "samples": X.shape[0],
                "features": X.shape[1],
                "values": values,
                "radius": usual.radius,
                "radius_share": usual.radius / values[0],
                "effective_rank": energy / values[0] ** 2,
                "energy_share": float(np.sum(values**2)) / energy,
                "fall": values[0] / values[-1],
            }
        )
        report(f"{name}: {X.shape[0]:,} x {X.shape[1]:,}, {wide.cost.seconds:.1f} s")
    shares = [row["energy_share"] for row in rows]
    good = [row["set"] for row in rows if row["energy_share"] >= chosen["well_approximated"]]
    return {
        "rows": rows,
        "sets": len(rows),
        "well_approximated": len(good),
        "smallest_share": min(shares),
        "largest_share": max(shares),
        "smallest_set": rows[int(np.argmin(shares))]["set"],
        "largest_set": rows[int(np.argmax(shares))]["set"],
    }


def protocol(stored: Results) -> str:
    """What was done."""
    chosen = stored["settings"]
    return (
        f"The top {chosen['values']} singular values of every text set, by a randomized sketch, as "
        f"published (counts, or weights where weights are published) and not centred. The dot is "
        f"the radius of a sketch of rank {chosen['rank']}: a bound on the norm of what it leaves "
        "out. The cross is the effective rank ||X||_F^2 / ||X||_2^2."
    )


def differs(stored: Results) -> str:
    """What is not as in the paper."""
    return (
        "The paper does not say which sets its figure shows or how they were weighted. Sets here: "
        f"{listed([row['set'] for row in stored['results']['rows']])}. Values are divided by the "
        "largest, so that sets can be compared."
    )


def findings(stored: Results) -> list[Finding]:
    """How much of the energy the values hold."""
    found, chosen = stored["results"], stored["settings"]
    most = 2 * found["well_approximated"] >= found["sets"]
    return [
        Finding(
            "text data are low-rank, or nearly",
            "a figure of falling singular values",
            f"{count(found['well_approximated'])} of {count(found['sets'])} sets hold at least "
            f"{percent(chosen['well_approximated'])} of their energy in {chosen['values']} values",
            "reproduced" if most else "not reproduced",
            f"The top {chosen['values']} singular values hold between "
            f"{percent(found['smallest_share'])} ({found['smallest_set']}) and "
            f"{percent(found['largest_share'])} ({found['largest_set']}) of the energy. "
            + (
                "The values fall fast, but what is left out is far from nothing, which is why the "
                "radius matters."
                if found["smallest_share"] < chosen["well_approximated"]
                else "Every set is well approximated."
            ),
        )
    ]


def tables(stored: Results) -> list[Sheet]:
    """One row per set."""
    chosen = stored["settings"]
    columns = (
        "set",
        "samples",
        "features",
        "effective rank",
        f"energy in {chosen['values']} values",
        "first / last value",
        f"radius at rank {chosen['rank']} / largest value",
    )
    rows = tuple(
        (
            row["set"],
            count(row["samples"]),
            count(row["features"]),
            number(row["effective_rank"]),
            percent(row["energy_share"]),
            number(row["fall"]),
            number(row["radius_share"]),
        )
        for row in stored["results"]["rows"]
    )
    return [Sheet("Singular values", columns, rows)]


def pictures(stored: Results) -> list[Picture]:
    """Falling values on logarithmic axes."""
    caption = (
        "Singular values over the largest, on logarithmic axes. Dots: radius of a sketch of rank "
        f"{stored['settings']['rank']}. Crosses: effective rank."
    )
    return [Picture(partial(_draw, stored), (7.0, 4.2), caption)]


def _draw(stored: Results, figure: Any) -> None:
    ax = figure.add_subplot()
    for number_, row in enumerate(stored["results"]["rows"]):
        values = np.asarray(row["values"]) / row["values"][0]
        places = np.arange(1, len(values) + 1)
        colour = PALETTE[number_ % len(PALETTE)]
        style = DASHES[number_ // len(PALETTE)]
        ax.plot(places, values, color=colour, linestyle=style, label=row["set"])
        ax.plot(
            [stored["settings"]["rank"]], [row["radius_share"]], "o", color=colour, markersize=4
        )
        at = min(max(row["effective_rank"], 1.0), len(values))
        if row["effective_rank"] <= len(values):
            ax.plot([at], [np.interp(at, places, values)], "x", color=colour, markersize=7)
    tidy(ax, "number of the singular value", "singular value / largest", xscale="log", yscale="log")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
