"""Data sets that can be fetched by name, and where they are published.

Neither of the two sites publishes checksums. A download is therefore compared with the published
numbers of rows, columns and, where known, non-zeros; its own SHA-256 is noted beside it, so that
later damage is detected.
"""

from __future__ import annotations

from dataclasses import dataclass

from sketchlasso.files.read import Format

__all__ = ["CATALOGUE", "DataSet", "plain_name"]

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/bag-of-words/"


@dataclass(frozen=True)
class DataSet:
    """A published data set.

    Attributes
    ----------
    folder : str
        Folder of its files, below the data folder or the cache.
    url : str
        Address that the file names follow.
    files : tuple of str
        The data first, then what belongs beside them.
    format : str
    shape : tuple of int
        Published numbers of samples and features.
    nonzeros : int or None
        Published number of non-zeros, where it is known.
    multilabel : bool
    """

    folder: str
    url: str
    files: tuple[str, ...]
    format: Format
    shape: tuple[int, int]
    nonzeros: int | None = None
    multilabel: bool = False


def plain_name(name: str) -> str:
    """Return a name as the catalogue spells it: Real-sim, rcv1.binary and SIAM 2007 are known."""
    return "_".join(name.strip().lower().replace("-", " ").replace(".", " ").split()).replace(
        "siam_2007", "siam2007"
    )


def _libsvm(
    folder: str, task: str, file: str, shape: tuple[int, int], nonzeros: int | None = None
) -> DataSet:
    several = task == "multilabel"
    return DataSet(folder, f"{LIBSVM}{task}/", (file,), "svmlight", shape, nonzeros, several)


def _uci(name: str, shape: tuple[int, int], nonzeros: int | None = None) -> DataSet:
    files = (f"docword.{name}.txt.gz", f"vocab.{name}.txt")
    return DataSet(name, UCI, files, "bag-of-words", shape, nonzeros)


CATALOGUE = {
    "gisette": _libsvm("gisette", "binary", "gisette_scale.bz2", (6000, 5000)),
    "gisette_test": _libsvm("gisette", "binary", "gisette_scale.t.bz2", (1000, 5000)),
    "news20": _libsvm("news20", "multiclass", "news20.bz2", (15935, 62061), 1272569),
    "news20_test": _libsvm("news20", "multiclass", "news20.t.bz2", (3993, 62061)),
    "rcv1_binary": _libsvm("rcv1", "binary", "rcv1_train.binary.bz2", (20242, 47236)),
    "rcv1_binary_test": _libsvm("rcv1", "binary", "rcv1_test.binary.bz2", (677399, 47236)),
    "real_sim": _libsvm("real_sim", "binary", "real-sim.bz2", (72309, 20958)),
    "siam2007": _libsvm("siam2007", "multilabel", "tmc2007_train.svm.bz2", (21519, 30438)),
    "siam2007_test": _libsvm("siam2007", "multilabel", "tmc2007_test.svm.bz2", (7077, 30438)),
    "nips": _uci("nips", (1500, 12419), 746316),
    "nytimes": _uci("nytimes", (300000, 102660)),
    "kos": _uci("kos", (3430, 6906), 353160),
}
