"""Options that commands share, and what they mean for the library."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import typer
from scipy import sparse

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError, StoredFileError
from sketchlasso.interfaces import Model
from sketchlasso.interfaces.commands.screen import Watch

FORMATS = (
    "Data: svmlight, bag-of-words (docword.NAME.txt), CSV, TSV, JSON Lines, Parquet, Arrow, npz, "
    "npy or Matrix Market; text also compressed; - for standard input."
)

File = Annotated[Path, typer.Argument(metavar="FILE", help=FORMATS)]
Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE",
        help=f"{FORMATS} Several files, a folder or a pattern in quotes are the rows of one "
        "matrix.",
    ),
]
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model file written by fit or cv.")
]
Alphas = Annotated[str, "How many penalties, or which ones, separated by commas."]
AlphaMinRatio = Annotated[float | None, "Smallest over largest automatic penalty."]
Seed = Annotated[int, typer.Option(help="Seed of everything random.", min=0)]
Device = Annotated[str, "cpu, cuda, or auto: a GPU if there is one."]
Threads = Annotated[int, "Threads; -1 for all cores."]
Top = Annotated[int, typer.Option(help="How many lines of a table to show.", min=0)]
Verbose = Annotated[bool, "Report duality gaps, radius and seconds as well."]
Solver = Literal["newton", "conic"]


@dataclass(frozen=True)
class DataOptions:
    """How to read the data, and where the response is."""

    panel: ClassVar[str] = "Data"
    target: Annotated[str | None, "The response: a column's name, or its number from 1."] = None
    target_file: Annotated[Path | None, "Responses, one number or label per line."] = None
    target_word: Annotated[str | None, "The response of counts of words: one of the words."] = None
    keep: Annotated[list[str] | None, "The only columns to read, as in 'age,room*'."] = None
    drop: Annotated[list[str] | None, "Columns to leave out, as in 'id,note*'."] = None
    categorical: Annotated[list[str] | None, "Columns whose numbers are levels, as codes."] = None
    clean: Annotated[
        bool, "Read percent signs, currencies and dates as numbers, and report what was done."
    ] = False
    drop_constant: Annotated[bool, "Leave out columns that do not vary."] = False
    drop_duplicates: Annotated[bool, "Leave out columns equal to others up to scale."] = False
    na: Annotated[list[str] | None, "Words for missing values, instead of the usual ones."] = None
    decimal: Annotated[str | None, "The decimal mark, if not a point."] = None
    thousands: Annotated[str | None, "The mark between groups of three digits."] = None
    encoding: Annotated[str, "How text is stored, such as latin-1."] = "utf-8"
    names: Annotated[
        bool | None,
        typer.Option("--names/--no-names", help="Whether text begins with names, if not detected."),
    ] = None
    format: Annotated[str | None, "The format, if the file's name does not show it."] = None
    separator: Annotated[str | None, "What separates the cells of a text table."] = None
    impute: Annotated[
        Literal["mean", "median", "drop"] | None,
        "Fill missing values (of a category with the commonest level), or drop their rows. predict "
        "does as the fit did.",
    ] = None
    n_features: Annotated[int | None, "Number of columns of an svmlight file."] = None
    index_base: Annotated[
        int | None,
        typer.Option(help="The first index of svmlight files, if not detected.", min=0, max=1),
    ] = None
    vocabulary: Annotated[Path | None, "The words of a bag-of-words file, one per line."] = None

    def __post_init__(self) -> None:
        named = [name for name in ("target", "target_file", "target_word") if getattr(self, name)]
        if len(named) > 1:
            words = " and ".join(f"--{name.replace('_', '-')}" for name in named)
            raise InvalidInputError(
                f"{words} were given, but there is one target; give one of them."
            )
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            raise InvalidInputError(
                f"--encoding must be a text encoding such as latin-1, not {self.encoding!r}."
            ) from None

    @property
    def names_target(self) -> bool:
        """Whether an option names the target."""
        return any((self.target, self.target_file, self.target_word))

    @property
    def in_blocks(self) -> bool:
        """Whether even a single file is to be read in blocks."""
        return False

    def read_table(self, paths: list[Path], **roles: Any) -> sl.io.Table:
        """Read files as they are to be read; `roles` replace what the options say."""
        same = (
            *("keep", "clean", "drop_constant", "drop_duplicates", "na", "decimal", "thousands"),
            *("impute", "n_features", "index_base", "vocabulary"),
        )
        arguments: dict[str, Any] = {name: getattr(self, name) for name in same}
        arguments["target"] = self.target or self.target_word
        arguments["drop"], arguments["categorical"] = self.drop or (), self.categorical or ()
        return sl.io.read_table(paths, **{**arguments, **self.text_layout(), **roles})

    def read_shards(self, paths: list[Path], memory: str | None) -> sl.io.Shards:
        """Scan files that are read a block at a time; refuse options that need whole columns."""
        usual = DataOptions()
        understood = ("target", "target_file", "target_word", "drop", "format", "memory")
        for name in vars(usual):
            if name not in understood and getattr(self, name) != getattr(usual, name):
                raise InvalidInputError(
                    f"--{name.replace('_', '-')} does not apply to data in blocks; leave it out, "
                    "or read the files whole."
                )
        format: Any = self.format
        return sl.io.read_shards(
            paths,
            memory=memory,
            target=self.target or self.target_word,
            drop=self.drop or (),
            format=format,
        )

    def text_layout(self) -> dict[str, Any]:
        """Return keyword arguments that say how text is split into cells."""
        return {
            "format": self.format,
            "separator": self.separator,
            "header": self.names,
            "text_encoding": self.encoding,
        }


@dataclass(frozen=True)
class ClusterOptions:
    """Where the work is done."""

    scheduler: Annotated[
        str | None, "Work on a Dask cluster: the address of its scheduler, or local."
    ] = None
    worker_timeout: Annotated[float, "Seconds to wait for workers of --scheduler, or inf."] = 60.0

    @contextmanager
    def cluster(self, on_progress: Callable[[int, int, str], None] | None = None) -> Iterator[None]:
        """Run what is inside on the cluster of --scheduler, or in this process."""
        where = None if self.scheduler == "local" else self.scheduler or "sequential"
        with sl.cluster.cluster(where, on_progress=on_progress, worker_timeout=self.worker_timeout):
            yield


@dataclass(frozen=True)
class BlockOptions(ClusterOptions, DataOptions):
    """How data are read, in blocks if asked, and where the work is done."""

    memory: Annotated[
        str | None, "Read FILE in blocks: memory to read and multiply one block, such as 500MB."
    ] = None

    @property
    def in_blocks(self) -> bool:
        """Whether even a single file is to be read in blocks."""
        return self.memory is not None or self.scheduler is not None


@dataclass(frozen=True)
class ModelOptions:
    """What is fitted, and how."""

    panel: ClassVar[str] = "Model"
    classify: Annotated[
        bool | None,
        typer.Option(
            "--classify/--regress", help="By default text and numbers of two values are classes."
        ),
    ] = None
    sketch: Annotated[str, "auto, none (the full problem), a method, or a sketch file."] = "auto"
    rank: Annotated[int, typer.Option(help="Rank of the sketch.", min=1)] = 50
    radius: Annotated[
        str | None, "A number, realised, spectral, or such as 0.3*spectral; cv tries a list."
    ] = None
    intercept: Annotated[bool, "Whether the model has an intercept."] = True
    standardize: Annotated[
        bool | None,
        typer.Option(
            "--standardize/--no-standardize",
            help="Divide columns by their standard deviations; by default dense ones alone.",
        ),
    ] = None
    positive: Annotated[bool, "Coefficients >= 0 only."] = False
    relaxed: Annotated[bool, "Refit by least squares on the selected features."] = False
    solver: Annotated[Solver, "newton, or conic (Clarabel)."] = "newton"
    tol: Annotated[float, "Relative duality gap to reach."] = 1e-8
    threads: Threads = -1
    seed: Seed = 0
    device: Device = "cpu"

    def __post_init__(self) -> None:
        self.radii()
        self.settings(None)

    def radii(self) -> list[sl.engine.RadiusPolicy] | None:
        """Return the radii, which are separated by commas."""
        if self.radius is None:
            return None
        return [sl.engine.RadiusPolicy.parse(part.strip()) for part in self.radius.split(",")]

    def estimator_parameters(self, X: Any, watch: Watch | None) -> dict[str, Any]:
        """Return keyword arguments of the estimators, the penalties left out."""
        radii = self.radii()
        return {
            "fit_intercept": self.intercept,
            "standardize": "auto" if self.standardize is None else self.standardize,
            "positive": self.positive,
            "rank": self.rank,
            "sketch": self.sketch_argument(X),
            "radius": radii[0] if radii is not None and len(radii) == 1 else radii,
            "relaxed": self.relaxed,
            "solver": self.solver,
            "tol": self.tol,
            "n_jobs": self.threads,
            "random_state": self.seed,
            "verbose": watch or False,
            "device": self.device,
        }

    def sketch_argument(self, X: Any) -> Any:
        """Return what the estimators take as `sketch`: None, a name, or a ready sketch of X."""
        if self.sketch.lower() == "none":
            return None
        if not (Path(self.sketch).suffix or Path(self.sketch).exists()):
            return self.sketch
        ready = sl.load_sketch(self.sketch)
        if ready.shape != X.shape or not (ready.fingerprint is None or ready.matches(X)):
            raise InvalidInputError(
                f"{self.sketch} is a sketch of other data ({ready.n_samples} x "
                f"{ready.n_features}) than given here ({X.shape[0]} x {X.shape[1]}); sketch this "
                "file with the same target, or leave --sketch out."
            )
        return ready

    def make_sketch(self, X: Any, y: Any, *, needed: bool) -> sl.Sketch | None:
        """Return a sketch of X for the functions that take one; None for the full problem."""
        wanted = self.sketch_argument(X)
        in_blocks = isinstance(X, sl.io.BlockMatrix)
        if wanted == "auto":
            robust = needed or self.radius is not None or in_blocks
            wanted = sl.engine.automatic_method(X.shape, self.rank, robust=robust)
        if wanted is None and needed:
            raise InvalidInputError(
                f"--sketch {self.sketch} cannot be used, because leave-one-out works on a sketch; "
                "leave it out, or give --sketch exact."
            )
        if wanted is None or isinstance(wanted, sl.Sketch):
            return wanted
        size = {} if wanted == "exact" else {"rank": min(self.rank, *X.shape)}
        return sl.sketch(
            X,
            y if wanted == "response" else None,
            method=wanted,
            center=self.intercept,
            random_state=self.seed,
            **size,
        )

    def settings(self, watch: Watch | None, finest: float = 1.0) -> sl.Settings:
        """Return the settings of the solver, with a tolerance of at most `finest`."""
        return sl.Settings(
            tol=min(self.tol, finest), n_threads=self.threads, callback=watch, device=self.device
        )

    def scaled(self, X: Any, like: Model | None = None) -> tuple[Any, Any]:
        """Return X with its columns divided as the estimators do, and the divisors or None.

        Without an option, columns are divided if those of the fitted model `like` were.
        """
        ready = self.sketch != "auto" and Path(self.sketch).exists()
        in_blocks = isinstance(X, sl.io.BlockMatrix)
        wanted = self.standardize
        if wanted is None and like is not None:
            wanted = like.standardized_
        elif wanted is None:
            wanted = not (in_blocks or sparse.issparse(X) or ready)
        if not wanted:
            return X, None
        if in_blocks or ready:
            raise InvalidInputError(
                "--standardize cannot be used here with data in blocks or a ready sketch; use fit "
                "or cv, or make the sketch with --scale."
            )
        from sklearn.preprocessing import StandardScaler

        scaler = StandardScaler(with_mean=False).fit(X)
        return scaler.transform(X), scaler.scale_

    def refuse_relaxed(self, command: str) -> None:
        """Refuse --relaxed where a command does not use it."""
        if self.relaxed:
            raise InvalidInputError(
                f"--relaxed does not apply to {command}; leave it out, or use fit or cv."
            )


def alphas_of(text: str) -> int | list[float]:
    """Read penalties: how many, or which ones, separated by commas."""
    try:
        return int(text) if text.isdecimal() else [float(one) for one in text.split(",") if one]
    except ValueError:
        raise InvalidInputError(
            "--alphas must be a whole number (how many) or penalties separated by commas, not "
            f"{text!r}; give for example 50 or 4,2,1."
        ) from None


def penalty_of(text: str, *others: str) -> float | str:
    """Read one penalty: a number, pivotal, or one of the other names."""
    names = ("pivotal", *others)
    try:
        return text if text in names else float(text)
    except ValueError:
        raise InvalidInputError(
            f"--alpha must be {', '.join(names)} or a number > 0 (or 0, on a sketch), not {text!r}."
        ) from None


def number_or_name(text: str | None) -> Any:
    """Return text as a number if it is one; the library checks names."""
    if text is None or "_" in text:  # Python reads 1_2 as 12
        return text
    try:
        return float(text)
    except ValueError:
        return text


def read_lines(path: Path, content: str, option: str) -> list[str]:
    """Return the lines of a text file without space around them; `content` is for the error."""
    try:
        return [line.strip() for line in sl.io.read_lines(path)]
    except StoredFileError as problem:
        raise StoredFileError(
            f"{option} {path} could not be used ({str(problem).rstrip('.')}); give the path of a "
            f"text file with one {content} per line."
        ) from problem
