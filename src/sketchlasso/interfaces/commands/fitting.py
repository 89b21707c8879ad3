"""`sketchlasso fit` and `sketchlasso path`: one penalty, or a whole path of them."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from scipy import sparse

import sketchlasso as sl
from sketchlasso.interfaces.commands.calibrating import Calibrate, calibrate, check_calibrate
from sketchlasso.interfaces.commands.data import at_work, read_given
from sketchlasso.interfaces.commands.describe import (
    class_words,
    model_data,
    model_words,
    score_of,
    solver_facts,
)
from sketchlasso.interfaces.commands.drawing import Picture, draw_model
from sketchlasso.interfaces.commands.effects import effect_data, effect_sheet
from sketchlasso.interfaces.commands.given import Given
from sketchlasso.interfaces.commands.options import (
    AlphaMinRatio,
    Alphas,
    BlockOptions,
    DataOptions,
    Files,
    ModelOptions,
    Top,
    Verbose,
    alphas_of,
    penalty_of,
    radii_of,
)
from sketchlasso.interfaces.commands.outputs import check_outputs, output_option
from sketchlasso.interfaces.commands.report import Report, Sheet, wrote
from sketchlasso.interfaces.commands.screen import Screen
from sketchlasso.interfaces.models import Model

__all__ = ["fit", "path", "target_words"]

Output = Annotated[
    Path | None,
    output_option("The model file to write."),
]
PathTable = Annotated[
    Path | None,
    output_option(
        "Table to write (.csv, .tsv, .parquet, .npz): alpha, intercept, features ever used."
    ),
]
SHOWN = 20


def fit(
    file: Files,
    data: DataOptions,
    blocks: BlockOptions,
    model: ModelOptions,
    screen: Screen,
    alpha: Annotated[
        str,
        typer.Option(
            help="Penalty: a number, or pivotal, rigorous or rigorous-robust, which need no "
            "cross-validation."
        ),
    ] = "pivotal",
    calibrated: Calibrate = None,
    output: Output = None,
    plot: Picture = None,
    top: Top = 10,
    verbose: Verbose = False,
) -> Report:
    """Fit one penalty and write a model file.

    The square-root LASSO, or its classifier where the target means classes.
    """
    check_outputs(None, plot)
    given = read_given(file, data, blocks, needs_target=True)
    classes = given.is_classification(model.classify)
    check_calibrate(calibrated, given.X, classes)
    kind = sl.SqrtLassoClassifier if classes else sl.SqrtLasso
    start = perf_counter()
    with screen.watching("fitting") as watch, at_work(given, blocks, watch):
        estimator: Model = kind(
            alpha=penalty_of(alpha, "rigorous", "rigorous-robust"),
            **model.estimator_parameters(given.X, watch),
        ).fit(given.X, given.response)
        seconds = perf_counter() - start
        name, value = score_of(estimator, given)
        notes = calibrate(estimator, given, calibrated)
        drawn = draw_model(estimator, given, plot)
        written = save(estimator, given, output)
    return Report(
        data={
            "command": "fit",
            "output": output,
            "n_samples": given.X.shape[0],
            "target": given.target_name,
            **model_data(estimator),
            "coefficients": effect_data(estimator, given),
            "training_score": {"name": name, "value": value},
            "seconds": seconds,
        },
        facts=(
            (name, f"{value:.4f} on the rows of the fit (cv judges by other rows)"),
            ("data", given.words()),
            ("target", target_words(given, getattr(estimator, "classes_", None))),
            ("model", model_words(estimator)),
            *((*solver_facts(estimator), ("seconds", f"{seconds:.2f}")) if verbose else ()),
            *notes,
            *written,
            *drawn,
        ),
        sheets=effect_sheet(estimator, given, top),
    )


def path(
    file: Files,
    data: DataOptions,
    blocks: BlockOptions,
    model: ModelOptions,
    screen: Screen,
    alphas: Alphas = "100",
    alpha_min_ratio: AlphaMinRatio = None,
    output: PathTable = None,
) -> Report:
    """Solve for many penalties at once, each with its duality gap."""
    model.refuse("path", "relaxed")
    given = read_given(file, data, blocks, needs_target=True)
    y, classes = given.signs(model.classify)
    X, scales = model.scaled(given.X)
    start = perf_counter()
    with screen.watching("solving the path") as watch, at_work(given, blocks, watch):
        sketch = model.make_sketch(X, y, needed=False)
        found = sl.sqrt_lasso_path(
            X,
            y,
            sketch,
            alphas=alphas_of(alphas),
            alpha_min_ratio=alpha_min_ratio,
            radius=radii_of(model.radius),
            refine="exact" if model.refine and sketch is not None else None,
            fit_intercept=model.intercept,
            positive=model.positive,
            solver=model.solver,  # type: ignore[arg-type]
            settings=model.settings(watch),
        )
        columns = _columns(found)
    seconds = perf_counter() - start
    if output is not None:
        sl.io.write_table(output, _coefficient_table(found, scales, given))
    return Report(
        data={
            "command": "path",
            "output": output,
            "n_samples": given.X.shape[0],
            "n_features": given.X.shape[1],
            "target": given.target_name,
            **columns,
            "seconds": seconds,
        },
        facts=(
            ("data", given.words()),
            ("target", target_words(given, classes)),
            ("sketch", "none, the full problem" if sketch is None else repr(sketch)),
            ("seconds", f"{seconds:.2f}"),
            *wrote(output),
        ),
        sheets=(_thinned(columns),),
    )


def save(estimator: Model, given: Given, output: Path | None) -> tuple[tuple[str, str], ...]:
    """Write the model file, and say so."""
    if output is None:
        return ()
    estimator.set_params(verbose=False)
    if given.names is not None and not sparse.issparse(given.X):
        # In Python the model then asks for a table with these columns, in this order.
        estimator.feature_names_in_ = np.array(given.names, dtype=object)
    sl.save_model(
        output,
        estimator,
        X=given.X,
        feature_names=given.names,
        target_name=given.target_name,
        encoding=given.encoding,
    )
    return wrote(output)


def target_words(given: Given, classes: Any = None) -> str:
    """Name the target, and what it means."""
    name = given.target_name or "(unnamed)"
    return name if classes is None else f"{name}: classes {class_words(classes)}"


def _columns(found: sl.Path) -> dict[str, Any]:
    """One entry an instance: responses are single, radii slowest."""
    return {
        "alpha": found.alphas.ravel(),
        "radius": found.radius,
        "nonzero": found.models.n_nonzero,
        "objective": found.primal,
        "gap": found.relative_gap,
        "full_gap": found.full_gap,
    }


def _thinned(columns: dict[str, Any]) -> Sheet:
    """Some of the instances, evenly spaced, the first and last among them."""
    rows = tuple(zip(*columns.values(), strict=True))
    if len(rows) <= SHOWN:
        return Sheet(f"{len(rows)} penalties", tuple(columns), rows)
    places = np.unique(np.linspace(0, len(rows) - 1, SHOWN).round().astype(int))
    title = f"{len(places)} of {len(rows)} penalties"
    return Sheet(title, tuple(columns), tuple(rows[k] for k in places))


def _coefficient_table(found: sl.Path, scales: Any, given: Given) -> sl.io.Table:
    coef = found.models.coef
    used = np.unique(coef.indices[coef.data != 0])
    values = coef[:, used].toarray()
    if scales is not None:
        values = values / scales[used]
    names = [f"feature {j}" if given.names is None else given.names[j] for j in used]
    return sl.io.Table(
        np.column_stack([found.alphas.ravel(), found.models.intercept, values]),
        None,
        ("alpha", "intercept", *(_distinct(name) for name in names)),
    )


def _distinct(name: str) -> str:
    """A feature's name that is neither of the two in front."""
    return f"{name} (feature)" if name in ("alpha", "intercept") else name
