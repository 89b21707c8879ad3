"""Sparse data like counts of words, made shard by shard and kept in a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.io import BlockMatrix

__all__ = ["Folder", "Shard", "generate", "random_block"]

TOPICS = 60
# Drawing a column twice for a row makes one entry: so many more are drawn.
REPEATED = 1.1


@dataclass(frozen=True)
class Shard:
    """A block of rows in an npz file, as :class:`BlockMatrix` takes it."""

    path: str
    rows: int
    columns: int
    name: str

    dtype = np.dtype(np.float64)
    sparse = True

    def load(self) -> Any:
        return sparse.csr_array(sparse.load_npz(self.path))


@dataclass(frozen=True)
class Folder:
    """Shards, their responses and the non-zeros they turned out to have."""

    shards: tuple[Shard, ...]
    responses: str
    nonzeros: int

    @property
    def shape(self) -> tuple[int, int]:
        return sum(shard.rows for shard in self.shards), self.shards[0].columns

    @property
    def row_nonzeros(self) -> float:
        return self.nonzeros / self.shape[0]

    def matrix(self) -> BlockMatrix:
        return BlockMatrix(self.shards)

    def y(self) -> np.ndarray:
        return np.load(self.responses)


def random_block(rows: int, columns: int, nonzeros: int, rng: np.random.Generator) -> Any:
    """CSR (rows, columns): half of a row's columns are common, half of its own topic."""
    count = int(REPEATED * nonzeros)
    common = rng.random((rows, count)) ** 3 * columns
    topic = rng.integers(TOPICS, size=(rows, 1))
    own = (topic + rng.random((rows, count)) ** 2) * (columns / TOPICS)
    chosen = np.where(rng.random((rows, count)) < 0.5, common, own).astype(np.int32)
    values = 0.5 + rng.random((rows, count))
    indptr = np.arange(0, rows * count + 1, count, dtype=np.int32)
    X = sparse.csr_array((values.ravel(), chosen.ravel(), indptr), shape=(rows, columns))
    X.sum_duplicates()
    return X


def generate(
    folder: Path, rows: int, columns: int, nonzeros: int, rows_per_block: int, seed: int
) -> Folder:
    """Write shards and responses: 60 features matter, the noise is a third of what they say."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    w = np.zeros(columns)
    # The commonest features of some topics, so that a sketch can predict the response at all.
    topics = rng.permutation(TOPICS)[:20, None]
    chosen = (topics * columns // TOPICS + np.arange(1, 4)).ravel() % columns
    w[chosen] = rng.standard_normal(len(chosen))
    shards, responses, stored = [], [], 0
    for number, start in enumerate(range(0, rows, rows_per_block)):
        X = random_block(min(rows_per_block, rows - start), columns, nonzeros, rng)
        path = folder / f"part-{number:05d}.npz"
        sparse.save_npz(path, X, compressed=False)
        shards.append(Shard(str(path), X.shape[0], columns, path.name))
        responses.append(X @ w)
        stored += X.nnz
    y = np.concatenate(responses)
    y += y.std() / 3 * rng.standard_normal(rows)
    np.save(folder / "y.npy", y)
    return Folder(tuple(shards), str(folder / "y.npy"), stored)
