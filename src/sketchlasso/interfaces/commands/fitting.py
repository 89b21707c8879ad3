"""`sketchlasso fit` and `sketchlasso cv`: a model of one penalty, given or chosen."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from scipy import sparse

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces import Model
from sketchlasso.interfaces.commands.data import at_work, read_given
from sketchlasso.interfaces.commands.describe import (
    effect_data,
    effect_sheet,
    model_data,
    model_words,
    score_of,
    solver_facts,
    target_words,
)
from sketchlasso.interfaces.commands.folds import (
    SearchOptions,
    chosen_words,
    curve_sheet,
    held_out_scores,
    score_curves,
)
from sketchlasso.interfaces.commands.given import Given
from sketchlasso.interfaces.commands.options import (
    BlockOptions,
    DataOptions,
    Files,
    ModelOptions,
    Top,
    Verbose,
    alphas_of,
    penalty_of,
)
from sketchlasso.interfaces.commands.outputs import (
    check_outputs,
    draw_model,
    output_option,
    plot_option,
)
from sketchlasso.interfaces.commands.report import Facts, Report, wrote
from sketchlasso.interfaces.commands.screen import Screen

__all__ = ["cv", "fit"]

Output = Annotated[Path | None, output_option("The model file to write.")]
Picture = Annotated[
    Path | None, plot_option("Picture of the path and the effects, in cv of the scores too")
]
Calibrate = Annotated[
    str | None,
    typer.Option(
        "--calibrate",
        show_default=False,
        help="Keep what predict --interval needs: jackknife+ (each row left out) or cv+ (ten "
        "folds). The fit is repeated without these rows.",
    ),
]


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
    _check_calibrate(calibrated, given.X, classes)
    kind = sl.SqrtLassoClassifier if classes else sl.SqrtLasso
    start = perf_counter()
    with screen.watching("fitting") as watch, at_work(given, blocks, watch):
        estimator: Model = kind(
            alpha=penalty_of(alpha, "rigorous", "rigorous-robust"),
            **model.estimator_parameters(given.X, watch),
        ).fit(given.X, given.response)
        seconds = perf_counter() - start
        name, value = score_of(estimator, given)
        finished = _finish(estimator, given, calibrated, output, plot)
    return Report(
        data={
            **_data(estimator, given),
            "training_score": {"name": name, "value": value},
            "seconds": seconds,
        },
        facts=(
            (name, f"{value:.4f} on the rows of the fit (cv judges by other rows)"),
            *_facts(estimator, given),
            *((*solver_facts(estimator), ("seconds", f"{seconds:.2f}")) if verbose else ()),
            *finished,
        ),
        sheets=effect_sheet(estimator, given, top),
    )


def cv(
    file: Files,
    data: DataOptions,
    blocks: BlockOptions,
    model: ModelOptions,
    search: SearchOptions,
    screen: Screen,
    calibrated: Calibrate = None,
    output: Output = None,
    plot: Picture = None,
    top: Top = 10,
    verbose: Verbose = False,
) -> Report:
    """Choose penalty and radius by cross-validation.

    Then fit on all rows and write a model file.
    """
    check_outputs(None, plot)
    given = read_given(file, data, blocks, needs_target=True)
    classes = given.is_classification(model.classify)
    _check_calibrate(calibrated, given.X, classes)
    kind: Any = sl.SqrtLassoClassifierCV if classes else sl.SqrtLassoCV
    metric = search.scoring or ("accuracy" if classes else "mse")
    rows = search.split_rows(given.response, classes, model.seed)
    start = perf_counter()
    words = f"{search.folds}-fold cross-validation"
    with screen.watching(words) as watch, at_work(given, blocks, watch):
        estimator = kind(
            alphas=alphas_of(search.alphas),
            alpha_min_ratio=search.alpha_min_ratio,
            cv=rows,
            scoring=metric,
            selection=search.selection,
            **model.estimator_parameters(given.X, watch),
        ).fit(given.X, given.response)
        seconds = perf_counter() - start
        estimator.set_params(cv=search.folds)
        finished = _finish(estimator, given, calibrated, output, plot)
    scores, curves = held_out_scores(estimator, given, rows), score_curves(estimator)
    folds = f"{search.folds} folds, {search.split}"
    scored = verbose or search.scoring is not None
    return Report(
        data={
            **_data(estimator, given),
            **search.data(estimator, scores),
            "curves": curves,
            "seconds": seconds,
        },
        facts=(
            *((score.name, f"{score} on held-out rows ({folds})") for score in scores),
            *_facts(estimator, given),
            *(((metric, chosen_words(curves)),) if scored else ()),
            *((*solver_facts(estimator), ("seconds", f"{seconds:.2f}")) if verbose else ()),
            *finished,
        ),
        sheets=(
            *effect_sheet(estimator, given, top),
            *((curve_sheet(curves[0], metric),) if verbose else ()),
        ),
    )


def _data(estimator: Model, given: Given) -> dict[str, Any]:
    return {
        "n_samples": given.X.shape[0],
        "target": given.target_name,
        **model_data(estimator),
        "coefficients": effect_data(estimator, given),
    }


def _facts(estimator: Model, given: Given) -> Facts:
    return (
        ("data", given.words()),
        ("target", target_words(given, getattr(estimator, "classes_", None))),
        ("model", model_words(estimator)),
    )


def _finish(
    estimator: Model, given: Given, method: Any, output: Path | None, plot: Path | None
) -> Facts:
    """Calibrate, draw and save a fitted model as asked; facts that say so."""
    calibrated: Facts = ()
    if method is not None:
        estimator.calibrate(given.X, given.response, method=method)
        given.note_on_gaps("--calibrate left rows out after gaps were filled from all rows")
        calibrated = (("calibrated", f"by {method} on {given.X.shape[0]} rows"),)
    draw_model(estimator, given, plot)
    if output is not None:
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
    return (*calibrated, *wrote(output, plot))


def _check_calibrate(method: str | None, X: Any, classes: bool) -> None:
    """Refuse --calibrate where it is impossible, before anything is fitted."""
    if method is None:
        return
    if method not in ("jackknife+", "cv+"):
        raise InvalidInputError(
            f"--calibrate {method} was given, but jackknife+ or cv+ is accepted; give one of them."
        )
    if classes:
        raise InvalidInputError(
            "--calibrate was given for classes, but intervals are of numbers; leave it out, or "
            "give --regress."
        )
    if isinstance(X, sl.io.BlockMatrix):
        raise InvalidInputError(
            f"--calibrate {method} was given for data in blocks, but rows are left out of data in "
            "memory; leave it out, or read one file without --memory."
        )
