"""Times of baselines on the full data: measured where they finish, else extended and marked."""

from __future__ import annotations

from benchmarks.harness import run_steps

from reproduction.contenders import steps_of
from reproduction.experiment import Report, Results


def one_full_solve(name: str, about: Results, chosen: Results, limit: float | None) -> Results:
    """One problem on the full data by a second-order solver, or a lower bound from fewer rows.

    Parameters
    ----------
    name : str
        Of the contender.
    about : dict
        ``data``, and ``first_rows`` to begin with.
    chosen : dict
        Settings of the experiment.
    limit : float or None
        Seconds for all that it tries.

    Returns
    -------
    dict
        ``one``: seconds of one solve on all rows; ``at_least``: whether they are a lower bound.
    """
    task = {
        "data": about["data"],
        "rows": chosen["rows"],
        "folds": chosen["folds"],
        "penalty": chosen["penalty"],
        "first_rows": about["first_rows"],
    }
    found = run_steps(steps_of, (name, task), limit)
    if not found.done:
        return {"one": None, "steps": [], "at_least": True, "words": found.failure}
    last, every = found.done[-1], found.ready["rows"]
    whole = last["rows"] == every
    rows = f"{last['rows']:,}" if whole else f"{last['rows']:,} of {every:,}"
    return {
        # The paper's O(m n^2) grows like m; measured growth is faster, so this errs against us.
        "one": last["seconds"] * every / last["rows"],
        "measured": last["seconds"],
        "measured_rows": last["rows"],
        "rows": every,
        "at_least": not whole,
        "gap": last["gap"],
        "steps": found.done,
        "words": f"{last['seconds']:.3g} s for one problem on {rows} rows",
        "failure": found.failure,
    }


def every_fold(name: str, about: Results, chosen: Results, report: Report) -> Results:
    """Seconds of a peer for all folds, from those that it finished within the limit."""
    task = {
        "data": about["data"],
        "rows": chosen["rows"],
        "folds": chosen["folds"],
        "alphas": chosen["alphas"],
        "ratio": chosen["peer_ratio"],
        "tol": chosen["peer_tol"],
    }
    found = run_steps(steps_of, (name, task), chosen["limit"])
    done = len(found.done)
    total = sum(step["seconds"] for step in found.done)
    report(f"{about['data']}: {name}, {done} folds in {total:.1f} s {found.failure}")
    result: Results = {"folds": done, "failure": found.failure, "at_least": False}
    if done:
        return {
            **result,
            "seconds": total * chosen["folds"] / done,
            "extrapolated": bool(found.failure),
            "answered": min(step["answered"] for step in found.done),
        }
    if found.failure.startswith("over"):
        return {**result, "seconds": chosen["folds"] * chosen["limit"], "at_least": True}
    return {**result, "seconds": None}
