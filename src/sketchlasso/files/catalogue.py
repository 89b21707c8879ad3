"""Which data sets have names, where they come from and how they lie in a folder.

Neither of the two homes publishes checksums, so none are written here (`sha256` is None): what
comes is compared with the published numbers of rows, columns and, where known, non-zeros, and
its own SHA-256 is noted beside it so that later damage is seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sketchlasso.files.read import Format

__all__ = ["CATALOGUE", "DataSet", "Home", "Layout", "Part", "plain_name"]

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/bag-of-words/"


@dataclass(frozen=True)
class Part:
    """An array in a folder of data.

    Attributes
    ----------
    file : str
        Path below the folder: an npz file, or a text file with one name a line.
    key : str or None
        Name of the array in the npz file; None for a sparse matrix or a text file.
    """

    file: str
    key: str | None = None


@dataclass(frozen=True)
class Layout:
    """How a data set lies in the folder that SKETCHLASSO_DATA names.

    Attributes
    ----------
    matrix : tuple of Part
        Stacked one upon the other.
    target, feature_names, target_names : Part or None
        More feature names than features: the rest name the target.
    rows : {'all', 'labelled', 'complete'}
        Whether rows with target 0, or with missing values, are left out.
    """

    matrix: tuple[Part, ...]
    target: Part | None = None
    feature_names: Part | None = None
    target_names: Part | None = None
    rows: Literal["all", "labelled", "complete"] = "all"

    @property
    def files(self) -> tuple[str, ...]:
        """Every file that is needed, below the folder."""
        parts = (*self.matrix, self.target, self.feature_names, self.target_names)
        return tuple(dict.fromkeys(part.file for part in parts if part is not None))


@dataclass(frozen=True)
class Home:
    """Where a data set is published.

    Attributes
    ----------
    url : str
        Address of the folder.
    files : tuple of str
        The data first, then what belongs beside them.
    format : str
    shape : tuple of int
        Published numbers of samples and features.
    nonzeros : int or None
        Published number of non-zeros, where it is known.
    multilabel : bool
    sha256 : tuple of str, or None
        One a file, where they are published.
    """

    url: str
    files: tuple[str, ...]
    format: Format
    shape: tuple[int, int]
    nonzeros: int | None = None
    multilabel: bool = False
    sha256: tuple[str, ...] | None = None


@dataclass(frozen=True)
class DataSet:
    """A named data set: how it lies in a folder, where it is published, or both."""

    folder: str
    layout: Layout | None = None
    home: Home | None = None


def plain_name(name: str) -> str:
    """Return a name as the catalogue spells it: Real-sim, rcv1.binary and SIAM 2007 are known."""
    return "_".join(name.strip().lower().replace("-", " ").replace(".", " ").split()).replace(
        "siam_2007", "siam2007"
    )


def _libsvm(task: str, file: str, shape: tuple[int, int], nonzeros: int | None = None) -> Home:
    several = task == "multilabel"
    return Home(f"{LIBSVM}{task}/", (file,), "svmlight", shape, nonzeros, several)


def _uci(name: str, shape: tuple[int, int], nonzeros: int | None = None) -> Home:
    files = (f"docword.{name}.txt.gz", f"vocab.{name}.txt")
    return Home(UCI, files, "bag-of-words", shape, nonzeros)


def _counts(
    matrix: str | tuple[str, ...], target: Part | None = None, words: str | None = None
) -> Layout:
    files = (matrix,) if isinstance(matrix, str) else matrix
    named = None if words is None else Part(words)
    return Layout(tuple(Part(file) for file in files), target, named)


def _dense(file: str, names: str | None = None, rows: Literal["all", "complete"] = "all") -> Layout:
    named = None if names is None else Part(file, names)
    return Layout((Part(file, "X"),), Part(file, "y"), named, None, rows)


PUBLISHED = {
    "gisette": DataSet("gisette", None, _libsvm("binary", "gisette_scale.bz2", (6000, 5000))),
    "gisette_test": DataSet(
        "gisette", None, _libsvm("binary", "gisette_scale.t.bz2", (1000, 5000))
    ),
    "news20": DataSet(
        "news20",
        _counts("news20/news20_train_counts.npz", Part("news20/news20_train_labels.npz", "y")),
        _libsvm("multiclass", "news20.bz2", (15935, 62061), 1272569),
    ),
    "news20_test": DataSet("news20", None, _libsvm("multiclass", "news20.t.bz2", (3993, 62061))),
    "rcv1_binary": DataSet(
        "rcv1", None, _libsvm("binary", "rcv1_train.binary.bz2", (20242, 47236))
    ),
    "rcv1_binary_test": DataSet(
        "rcv1", None, _libsvm("binary", "rcv1_test.binary.bz2", (677399, 47236))
    ),
    "real_sim": DataSet("real_sim", None, _libsvm("binary", "real-sim.bz2", (72309, 20958))),
    "siam2007": DataSet(
        "siam2007", None, _libsvm("multilabel", "tmc2007_train.svm.bz2", (21519, 30438))
    ),
    "siam2007_test": DataSet(
        "siam2007", None, _libsvm("multilabel", "tmc2007_test.svm.bz2", (7077, 30438))
    ),
    "nips": DataSet("nips", None, _uci("nips", (1500, 12419), 746316)),
    "nytimes": DataSet("nytimes", None, _uci("nytimes", (300000, 102660))),
    "kos": DataSet(
        "kos",
        _counts("kos/kos_counts.npz", None, "kos/vocab.txt"),
        _uci("kos", (3430, 6906), 353160),
    ),
}

_NEWS, _IMDB, _RCV1 = "20news_bydate/", "imdb/", "rcv1/rcv1_labels.npz"
_LIKE, _MNIST = "gisette/gisette_like_", "mnist/mnist.npz"

LOCAL = {
    "20news_bydate": _counts(
        _NEWS + "train_counts.npz", Part(_NEWS + "labels.npz", "y_train"), _NEWS + "vocab.txt"
    ),
    "20news_bydate_test": _counts(
        _NEWS + "test_counts.npz", Part(_NEWS + "labels.npz", "y_test"), _NEWS + "vocab.txt"
    ),
    "rcv1": Layout((Part("rcv1/rcv1_X.npz"),), Part(_RCV1, "y_binary"), rows="labelled"),
    "rcv1_topics": Layout(
        (Part("rcv1/rcv1_X.npz"),), Part(_RCV1, "topics"), None, Part("rcv1/topic_codes.txt")
    ),
    "tmc2007_500": _counts(
        "tmc2007_500/tmc2007_500_X.npz",
        Part("tmc2007_500/tmc2007_500_labels.npz", "Y"),
        "tmc2007_500/vocab.txt",
    ),
    "bibtex": Layout(
        (Part("multilabel_text/bibtex_X.npz"),),
        Part("multilabel_text/bibtex_Y.npz", "Y"),
        Part("multilabel_text/bibtex_vocab.txt"),
        Part("multilabel_text/bibtex_tags.txt"),
    ),
    **{
        name: _counts(f"multilabel_text/{name}_X.npz", Part(f"multilabel_text/{name}_Y.npz", "Y"))
        for name in ("yahoo_education", "yahoo_reference")
    },
    "imdb": _counts(
        _IMDB + "train_counts.npz", Part(_IMDB + "ratings.npz", "rating_train"), _IMDB + "vocab.txt"
    ),
    "imdb_test": _counts(
        _IMDB + "test_counts.npz", Part(_IMDB + "ratings.npz", "rating_test"), _IMDB + "vocab.txt"
    ),
    "imdb_all": _counts(
        tuple(f"{_IMDB}{part}_counts.npz" for part in ("train", "test", "unsup")),
        None,
        _IMDB + "vocab.txt",
    ),
    "nips_uci": _counts("nips/nips_uci_counts.npz", None, "nips/nips_uci_vocab.txt"),
    "nips_1987_2003": _counts(
        "nips/nips_1987_2003_counts.npz", None, "nips/nips_1987_2003_vocab.txt"
    ),
    "nytimes_headlines": _counts(
        "nytimes_headlines/counts.npz",
        Part("nytimes_headlines/labels.npz", "topic_code"),
        "nytimes_headlines/vocab.txt",
    ),
    "gisette_sample168": _dense("gisette/gisette_sample168.npz"),
    "gisette_like": _counts(_LIKE + "train_X.npz", Part(_LIKE + "labels.npz", "y_train")),
    "gisette_like_valid": _counts(_LIKE + "valid_X.npz", Part(_LIKE + "labels.npz", "y_valid")),
    "mnist": Layout((Part(_MNIST, "X_train"),), Part(_MNIST, "y_train")),
    "mnist_test": Layout((Part(_MNIST, "X_test"),), Part(_MNIST, "y_test")),
    "arcene": _dense("nips2003/arcene.npz"),
    "madelon": _dense("nips2003/madelon.npz"),
    "riboflavin": _dense("microarray/riboflavin.npz", "genes"),
    **{
        name: _dense(f"microarray/{name}.npz")
        for name in (
            "alon", "golub", "gordon", "khan", "shipp", "pomeroy", "su", "gravier", "christensen",
            "borovecki", "subramanian", "west",
        )
    },
    "gasoline_nir": _dense("regression/gasoline_nir.npz"),
    "blogfeedback": _dense("regression/blogfeedback.npz"),
    "california_housing": _dense("regression/california_housing.npz", "names", "complete"),
    "diabetes": _dense("regression/diabetes.npz", "names"),
    "prostate": _dense("regression/prostate.npz", "names"),
    "boston": _dense("regression/boston.npz", "names"),
}  # fmt: skip

CATALOGUE: dict[str, DataSet] = PUBLISHED | {
    name: DataSet(layout.files[0].partition("/")[0], layout) for name, layout in LOCAL.items()
}
