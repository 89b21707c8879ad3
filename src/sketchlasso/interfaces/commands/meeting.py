"""Reading new rows for a model file in the way the rows of the fit were read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces import Model
from sketchlasso.interfaces.commands.data import is_table, read_given
from sketchlasso.interfaces.commands.given import Given
from sketchlasso.interfaces.commands.options import BlockOptions, DataOptions

__all__ = ["meet"]


def meet(
    model: Path,
    files: list[Path],
    options: DataOptions,
    blocks: BlockOptions | None = None,
    *,
    predicting: bool = False,
    id: str | None = None,
) -> tuple[Model, Given]:
    """Read a model and data with its columns; the target may be absent from new data.

    Columns that the model does not use may be absent or hold anything, where `predicting`.
    """
    info = sl.io.stored_info(model)
    estimator = sl.load_model(model)
    names, target = info.facts["feature_names"], info.facts["target_name"]
    encoding = _encoding(info.facts, files, options, blocks)
    if predicting:
        encoding = _used(encoding, estimator)

    def read(chosen: DataOptions) -> Given:
        return read_given(files, chosen, blocks, encoding=encoding, id=id)

    given = _read_like(read, files[0], options, target, names, int(info.facts["n_features"]))
    if encoding is not None:
        given = _widened(given, names)
    if names is not None:
        given = given.with_columns(names)
        # The columns stand as the fit had them; rows of plain numbers need no names now.
        vars(estimator).pop("feature_names_in_", None)
    if given.X.shape[1] != info.facts["n_features"]:
        raise InvalidInputError(
            f"{given.source} has {given.X.shape[1]} features but the model in {model} was fitted "
            f"on {info.facts['n_features']}; give data with the columns of the fit."
        )
    return estimator, given


def _encoding(
    facts: Mapping[str, Any], files: list[Path], options: DataOptions, blocks: BlockOptions | None
) -> sl.io.Encoding | None:
    """How columns of a table become the features of a model, by name; None for other files."""
    stored, names = facts.get("encoding"), facts["feature_names"]
    in_blocks = len(files) > 1 or (blocks is not None and blocks.asked)
    if names is None or in_blocks or not is_table(files[0], options.format):
        return None
    if stored is not None:
        return sl.io.Encoding.from_json(stored)
    return sl.io.Encoding.of_numbers(names)


def _used(encoding: sl.io.Encoding | None, estimator: Model) -> sl.io.Encoding | None:
    """The columns whose coefficients are not all zero; the first where none is.

    The models of a calibration have coefficients of their own, and need all columns.
    """
    if encoding is None or not hasattr(estimator, "coef_") or hasattr(estimator, "calibration_"):
        return encoding
    nonzero: Any = np.atleast_2d(estimator.coef_).any(axis=0)
    kept, first = [], 0
    for rule in encoding.columns:
        last = first + len(rule.feature_names)
        if nonzero[first:last].any():
            kept.append(rule)
        first = last
    return sl.io.Encoding(tuple(kept) or encoding.columns[:1])


def _widened(given: Given, names: Sequence[str]) -> Given:
    """The data with all features of a model; those that were not read are zero."""
    assert given.names is not None
    place = {name: j for j, name in enumerate(names)}
    X = np.zeros((given.X.shape[0], len(names)), dtype=given.X.dtype)
    X[:, [place[name] for name in given.names]] = given.X
    return replace(given, X=X, names=tuple(names))


def _read_like(
    read: Callable[[DataOptions], Given],
    first: Path,
    options: DataOptions,
    target: str | None,
    names: Any,
    n_features: int,
) -> Given:
    """Read data as those of the fit were, as far as nothing else is asked for."""
    if _is_svmlight(first) or options.format == "svmlight":
        return read(replace(options, n_features=options.n_features or n_features))
    asked = options.target or options.target_file or options.target_word
    if asked is not None or target is None or names is None:
        return read(options)
    if first.name.startswith("docword.") or options.format == "bag-of-words":
        given = read(options)
        known = given.names is not None and target in given.names
        return given.without(target) if known and target not in names else given
    try:
        return read(replace(options, target=target))
    except InvalidInputError as problem:
        if problem.parameter != "target":
            raise
        return read(options)


def _is_svmlight(path: Path) -> bool:
    """Whether a file, or some file of a folder, is svmlight by its name."""
    names = [item.name for item in path.iterdir()] if path.is_dir() else [path.name]
    return any(".svm" in name or ".libsvm" in name for name in names)
