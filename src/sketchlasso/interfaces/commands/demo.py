"""`sketchlasso demo` and `topics demo`, on data of scikit-learn and on bundled counts of words."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

import sketchlasso as sl
from sketchlasso.interfaces.commands import images
from sketchlasso.interfaces.commands.command import program
from sketchlasso.interfaces.commands.explorers import ViewOptions
from sketchlasso.interfaces.commands.options import Seed
from sketchlasso.interfaces.commands.outputs import panels, save_picture
from sketchlasso.interfaces.commands.report import Report, Sheet
from sketchlasso.interfaces.commands.screen import Screen
from sketchlasso.interfaces.commands.topics import corpus_facts

FOLDS = 5
WARM_UP = 10
# Rank for the docstrings; larger than the default, because they cover many subjects.
DEMO_RANK = 200
DEMO_WORDS = ("fourier", "matrix", "random", "cluster", "file")
WORDS = ("fourier", "cluster", "file")
INTRODUCTION = "Sparse regressions on tables and text, on data that are already installed."


@dataclass(frozen=True, eq=False)
class _Task:
    """Training rows, test rows and folds."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any
    folds: list[tuple[Any, Any]]


def demo(
    screen: Screen,
    rank: Annotated[int, "Rank of the sketch, 1 to 64."] = 30,
    alphas: Annotated[int, "Number of penalties."] = 100,
    tol: Annotated[float, "Relative duality gap to reach."] = 1e-6,
    plot: Annotated[Path | None, "Picture of the cross-validation (.png, .svg, .pdf)."] = None,
) -> Report:
    """Demonstrate the package on bundled digits and words.

    Cross-validation compared with scikit-learn's LassoCV, a sketch, leave-one-out, and the images
    of three words in the documentation of scientific packages.
    """
    digits, diabetes = _four_against_nine(), _diabetes()
    found = sl.sketch(digits.X, rank=rank, center=True, random_state=0)
    screen.say("getting ready (the first run compiles for a few seconds)")
    classifier = sl.SqrtLassoClassifierCV(
        sketch=found, alphas=alphas, cv=digits.folds, radius="realised", tol=tol
    )
    compiling = _warm_up(found, classifier, digits)
    exact = sl.SqrtLassoCV(sketch=None, alphas=alphas, cv=diabetes.folds, tol=tol)
    judged, ours = _fitted("sketchlasso SqrtLassoCV", exact, diabetes)
    theirs, unfinished = _lasso_cv(diabetes, alphas)
    model, sketched = _fitted("SqrtLassoClassifierCV", classifier, digits)
    sketched["seconds"] += found.cost.seconds
    left_out = _leave_one_out(found, digits, model)
    words, imaged = _three_words(screen)
    if plot is not None:
        save_picture(sl.plots.plot_cv(judged, ax=panels([["scores"]])["scores"]), plot)
    heads = ("method", "test R2", "non-zeros", "seconds")
    rows = tuple(tuple(one.values()) for one in (ours, theirs))
    return Report(
        data={
            "methods": [dict(zip(heads, row, strict=True)) for row in rows],
            "lasso_cv_convergence_warnings": unfinished,
            "sketched": sketched,
            "compile_seconds": compiling,
            "leave_one_out": left_out,
            "images": imaged,
        },
        text=INTRODUCTION,
        sheets=(
            Sheet(
                f"Diabetes, {len(diabetes.y)} patients x {diabetes.X.shape[1]} terms up to the "
                f"third degree: {FOLDS} folds x {alphas} penalties, the same for both",
                heads,
                rows,
            ),
            words,
        ),
        closing="\n".join(
            (
                f"LassoCV warned {unfinished} times that a fit did not converge; our model is "
                f"proved to a gap of {judged.full_gap_:.0e}",
                f"handwritten 4 or 9: {100 * sketched['score']:.1f} % of {len(digits.y_test)} test "
                f"digits right from {sketched['n_nonzero']} pixels, on a sketch of rank "
                f"{found.rank}, in {sketched['seconds']:.2f} s",
                f"leave-one-out: {100 * left_out['accuracy']:.1f} % of {left_out['rows']} training "
                f"digits right when left out, each by its own model, in "
                f"{left_out['seconds']:.2f} s",
                f"try your own table: {program()} cv FILE.csv --target COLUMN",
                f"explore the words in the browser: {program()} topics demo --serve --open",
            )
        ),
    )


def _leave_one_out(found: sl.Sketch, digits: _Task, model: Any) -> dict[str, Any]:
    start = perf_counter()
    left_out = sl.leave_one_out(
        found, digits.X, digits.y, alpha=float(model.alpha_[0]), radius=float(model.radius_[0])
    )
    return {
        "rows": len(digits.y),
        "accuracy": float(np.mean((left_out.predictions > 0) == (digits.y > 0))),
        "worst_gap": float(left_out.relative_gap.max()),
        "seconds": perf_counter() - start,
    }


def _three_words(screen: Screen) -> tuple[Sheet, list[dict[str, Any]]]:
    """Return images of three words of the embedded corpus, for people and for machines."""
    imager = fit_docstrings(screen, DEMO_RANK, 0)
    found, _ = images.ask(imager, WORDS, images.ImageOptions(n_words=6))
    sheet = Sheet(
        f"Words of {imager.corpus_.shape[0]} docstrings of scientific packages",
        ("word", "explained by", "image", "milliseconds"),
        tuple(
            (word, images.image_words(image), image.quality, round(1e3 * image.seconds, 1))
            for word, image in zip(WORDS, found, strict=True)
        ),
    )
    return sheet, list(map(images.image_data, found))


def _diabetes() -> _Task:
    """Progression of a disease, and all products of up to three of ten measurements."""
    from sklearn.datasets import load_diabetes
    from sklearn.model_selection import KFold, train_test_split
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    X, y = load_diabetes(return_X_y=True)
    X = PolynomialFeatures(3, include_bias=False).fit_transform(X)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    return _Task(X, y, X_test, y_test, list(KFold(FOLDS).split(X)))


def _four_against_nine() -> _Task:
    """Two digits; y is +1 for a 4 and -1 for a 9."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import StratifiedKFold, train_test_split

    X, digit = load_digits(return_X_y=True)
    keep = (digit == 4) | (digit == 9)
    y = np.where(digit[keep] == 4, 1.0, -1.0)
    parts = train_test_split(X[keep], y, test_size=0.3, stratify=y, random_state=0)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(parts[0], parts[2])
    return _Task(parts[0], parts[2], parts[1], parts[3], list(folds))


def _warm_up(found: sl.Sketch, classifier: sl.SqrtLassoClassifierCV, digits: _Task) -> float:
    """Run every kernel once; return the seconds that this took."""
    from sklearn.base import clone

    start, X, y = perf_counter(), digits.X, digits.y
    clone(classifier).set_params(alphas=WARM_UP).fit(X, y)
    sl.SqrtLassoCV(sketch=None, alphas=WARM_UP, tol=classifier.tol).fit(X, y)
    sl.leave_one_out(found, X, y, alpha=1.0, radius=1.0, rows=np.arange(2))
    return perf_counter() - start


def _fitted(name: str, model: Any, task: _Task) -> tuple[Any, dict[str, Any]]:
    """Fit a model; return it with its name, test score, size and seconds."""
    start = perf_counter()
    model.fit(task.X, task.y)
    seconds = perf_counter() - start
    return model, {
        "name": name,
        "score": float(model.score(task.X_test, task.y_test)),
        "n_nonzero": int(np.count_nonzero(model.coef_)),
        "seconds": seconds,
    }


def _lasso_cv(task: _Task, alphas: int) -> tuple[dict[str, Any], int]:
    """Fit LassoCV; return its outcome and how many of its fits did not converge."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LassoCV

    # The default penalties of LassoCV, spelled out: releases differ in how their number is given.
    largest = np.abs(task.X.T @ (task.y - task.y.mean())).max() / len(task.y)
    penalties = np.geomspace(largest, 1e-3 * largest, alphas)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _, outcome = _fitted("scikit-learn LassoCV", LassoCV(alphas=penalties, cv=task.folds), task)
    return outcome, sum(issubclass(one.category, ConvergenceWarning) for one in caught)


def topics_demo(
    view: ViewOptions,
    screen: Screen,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="WORD", help="Words to ask for.")
    ] = None,
    serve: Annotated[bool, "Open the explorer instead, with a map."] = False,
    output: Annotated[Path | None, "Keep the model in a file."] = None,
    rank: Annotated[int, typer.Option(help="Rank of the sketch.", min=1)] = DEMO_RANK,
    seed: Seed = 0,
) -> Report:
    """Image words of the documentation of scientific packages.

    NumPy, SciPy, scikit-learn, pandas, Matplotlib and Python: a real corpus that is bundled.
    """
    start = perf_counter()
    imager = fit_docstrings(screen, rank, seed)
    fitting = perf_counter() - start
    if output is not None:
        imager.save(output)
    if serve:
        with screen.counting("imaging every word for the map", "words") as count:
            stored = imager.image_all(progress=count)
        return view.serve(screen, {"n_words": len(imager.words_)}, imager, stored)
    with screen.waiting("asking"):
        found, unknown = images.ask(imager, words or DEMO_WORDS, images.ImageOptions())
    for missing in unknown:
        warnings.warn(str(missing), stacklevel=1)
    return Report(
        {
            "n_documents": imager.corpus_.shape[0],
            "n_words": imager.corpus_.shape[1],
            "fit_seconds": fitting,
            "images": list(map(images.image_data, found)),
        },
        facts=(*corpus_facts(imager), ("seconds", f"{fitting:.2f} to read and sketch")),
        sheets=tuple(map(images.image_sheet, found)),
        closing=f"continue in the browser: {program()} topics demo --serve",
    )


def fit_docstrings(screen: Screen, rank: int, seed: int) -> sl.topics.TopicImager:
    """Return an imager of the embedded corpus."""
    with screen.waiting("sketching words of the documentation of packages"):
        corpus = sl.topics.embedded_corpus()
        # Its words were chosen when the corpus was made.
        least = corpus.settings["min_documents"]
        return sl.topics.TopicImager(
            rank=rank, min_documents=least, stop_words=None, random_state=seed
        ).fit(corpus)
