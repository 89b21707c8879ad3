"""Cross-validation of `sketchlasso cv`: options, and scores on rows that models have not seen."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

import sketchlasso as sl
from sketchlasso.errors import EmptyModelWarning, InvalidInputError
from sketchlasso.interfaces import Search, class_signs
from sketchlasso.interfaces.commands.data import Given
from sketchlasso.interfaces.commands.options import AlphaMinRatio, Alphas, check_choice
from sketchlasso.interfaces.commands.report import Sheet, evenly
from sketchlasso.interfaces.plots.cross_validation import over_folds

SPLITS = ("shuffled", "ordered", "time")


@dataclass(frozen=True)
class SearchOptions:
    """What is searched, and on which folds it is judged."""

    alphas: Alphas = "100"
    alpha_min_ratio: AlphaMinRatio = None
    folds: Annotated[int, "Number of folds."] = 5
    split: Annotated[
        str,
        "How rows are cut into folds: shuffled (classes in equal shares), ordered (consecutive "
        "rows), or time (trained on earlier rows only).",
    ] = "shuffled"
    selection: Annotated[str, "min: the best score; 1se: the sparsest within a standard error."] = (
        "min"
    )
    scoring: Annotated[str | None, "mse, mae or r2; for classes accuracy, f1, auc or mse."] = None

    def data(self, estimator: Search, scores: Sequence[HeldOut]) -> dict[str, Any]:
        """Return what a search found, for machines."""
        return {
            "held_out": {
                score.name: {"mean": score.mean, "standard_error": score.standard_error}
                for score in scores
            },
            "folds": self.folds,
            "split": self.split,
            "scoring": estimator.scoring,
            "selection": self.selection,
            "alpha_min": estimator.alpha_min_,
            "alpha_1se": estimator.alpha_1se_,
        }

    def split_rows(self, y: Any, classes: bool, seed: int) -> list[tuple[Any, Any]]:
        """Return the training and test rows of each fold, for responses y (m,)."""
        from sklearn.model_selection import KFold, StratifiedKFold, TimeSeriesSplit

        check_choice("--split", self.split, SPLITS)
        stratified = classes and self.split != "time"
        labels, counts = np.unique(y, return_counts=True)
        most = int(counts.max()) if stratified else len(y)
        if most < 2:
            raise InvalidInputError(
                "every row has a class of its own, but folds need classes of at least 2 rows; "
                "give more rows, or --split time."
            )
        if not 2 <= self.folds <= most:
            what = f"no class has more than {most}" if stratified else f"the data have {most}"
            raise InvalidInputError(
                f"--folds {self.folds} was given, but {what} rows; give from 2 to {most}."
            )
        if stratified and counts.min() < self.folds:
            warnings.warn(
                f"class {labels[[counts.argmin()]].tolist()[0]!r} has {counts.min()} of the rows, "
                f"but --folds is {self.folds}, so some folds hold out none of its rows; give fewer "
                "folds, or more rows of this class.",
                stacklevel=2,
            )
        shuffled = {"shuffle": True, "random_state": seed} if self.split == "shuffled" else {}
        kind = TimeSeriesSplit if self.split == "time" else StratifiedKFold if classes else KFold
        with warnings.catch_warnings():
            # Reported above, in the words of the command line.
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            return list(kind(self.folds, **shuffled).split(np.zeros((len(y), 1)), y))


@dataclass(frozen=True)
class HeldOut:
    """A score over the folds: R2, accuracy or F1."""

    name: str
    mean: float
    standard_error: float

    def __str__(self) -> str:
        return f"{self.mean:.4f} +- {self.standard_error:.4f}"


def held_out_scores(
    estimator: Search, given: Given, folds: Sequence[tuple[Any, Any]]
) -> tuple[HeldOut, ...]:
    """Return R2, or accuracy and F1, of the out-of-fold predictions, averaged over the folds.

    F1 is that of the second of two classes, and the mean over the classes of more. The `folds`
    are the rows that each trained on and held out.
    """
    from sklearn.metrics import accuracy_score, f1_score, r2_score

    given.note_on_gaps(
        "gaps were filled from all rows, because --sketch was made from them"
        if isinstance(estimator.sketch, sl.Sketch)
        else "gaps were filled from all rows to choose the penalty, and from each fold's training "
        "rows for the score"
    )
    tests = [test for _, test in folds]
    if isinstance(estimator, sl.SqrtLassoCV):
        y = given.response
        values = out_of_fold(estimator, given, folds, y[:, None], estimator.oof_prediction_)
        # R2 has no unit, and squares of huge numbers overflow.
        unit = np.abs(y).max() or 1.0
        y, values = y / unit, values / unit
        return (_over_folds("R2", [r2_score(y[rows], values[rows]) for rows in tests]),)
    classes, own = np.unique(given.response, return_inverse=True)
    two = len(classes) == 2
    signs = class_signs(given.response, classes).reshape(len(own), -1)
    values = out_of_fold(estimator, given, folds, signs, estimator.oof_decision_)
    codes = (values > 0).astype(int) if two else values.argmax(axis=1)
    average = "binary" if two else "macro"
    return (
        _over_folds("accuracy", [accuracy_score(own[rows], codes[rows]) for rows in tests]),
        _over_folds(
            "F1",
            [f1_score(own[rows], codes[rows], average=average, zero_division=0) for rows in tests],
        ),
    )


def out_of_fold(
    estimator: Search, given: Given, folds: Sequence[tuple[Any, Any]], Y: Any, shared: Any
) -> Any:
    """Return predictions of every row by a model that has not seen it, shaped like `shared`.

    A search shares one X among its folds, and `shared` are its predictions. Where gaps were
    filled, that X also holds means of held-out rows. Each fold is then fitted again at the chosen
    penalty, with gaps filled, columns standardised and sketches made from its training rows alone.
    A ready sketch cannot be made again. Y (m, t) has one column per model.
    """
    if given.gaps is None or isinstance(estimator.sketch, sl.Sketch):
        return shared
    sketched = estimator.sketch_ is not None
    model = sl.SqrtLasso()
    common = estimator.get_params().keys() & model.get_params().keys()
    model.set_params(**{name: getattr(estimator, name) for name in common})
    model.set_params(verbose=False)
    if not sketched:
        model.set_params(sketch=None, radius=None, refine=None)
    alphas, radii = np.atleast_1d(estimator.alpha_), np.atleast_1d(estimator.radius_)
    found = np.full(Y.shape, np.nan)
    for train, test in folds:
        X = given.filled_from(train)
        for j, (alpha, radius) in enumerate(zip(alphas, radii, strict=True)):
            # One response at a time: each has its own radius.
            model.set_params(alpha=alpha, radius=radius if sketched else None)
            with warnings.catch_warnings():
                # The warning is about the model that the user gets, not about one of a fold.
                warnings.simplefilter("ignore", EmptyModelWarning)
                model.fit(X[train], Y[train, j])
            found[test, j] = model.predict(X[test])
    return found.reshape(shared.shape)


def _over_folds(name: str, values: Sequence[float]) -> HeldOut:
    spread = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    return HeldOut(name, float(np.mean(values)), spread)


def score_curves(estimator: Search) -> list[dict[str, Any]]:
    """Return penalties, mean scores and standard errors of every response, where it has scores."""
    paths = np.asarray(estimator.score_path_)
    paths = paths[None] if paths.ndim == 2 else paths
    curves = []
    for alphas, scores, used in zip(
        np.atleast_2d(estimator.alphas_), paths, np.atleast_1d(estimator.alpha_), strict=True
    ):
        tried = ~np.isnan(scores).all(axis=1)  # squared errors may overflow
        mean, error = over_folds(scores[tried])
        chosen = int(np.argmin(np.abs(alphas[tried] - used)))
        curves.append(
            {"alphas": alphas[tried], "mean": mean, "standard_error": error, "chosen": chosen}
        )
    return curves


def chosen_words(curves: list[dict[str, Any]]) -> str:
    """Return the mean score at the penalties that were chosen."""
    means = [curve["mean"][curve["chosen"]] for curve in curves]
    if len(means) > 1:
        return f"{np.mean(means):.4g} on average over {len(means)} classes or targets"
    error = curves[0]["standard_error"][curves[0]["chosen"]]
    return f"{means[0]:.4g} +- {error:.2g} on held-out rows"


def curve_sheet(curve: dict[str, Any], metric: str) -> Sheet:
    """List the scores of about ten penalties, the chosen one among them."""
    count = len(curve["alphas"])
    places = np.union1d(evenly(count, 10), [curve["chosen"]])
    rows = tuple(
        (
            *(float(curve[name][k]) for name in ("alphas", "mean", "standard_error")),
            "chosen" if k == curve["chosen"] else "",
        )
        for k in places
    )
    title = f"{len(rows)} of {count} penalties"
    return Sheet(title, ("alpha", metric, "standard error", ""), rows)
