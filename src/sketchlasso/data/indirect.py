"""Matrices other than arrays in memory: blocks of rows, linear operators, entries on a GPU."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from sketchlasso.data import block_work as at_blocks
from sketchlasso.data.blocks import BlockMatrix
from sketchlasso.data.protocol import Storage, no_entries
from sketchlasso.data.storage import DenseStorage, SparseStorage, floating, new_digest
from sketchlasso.errors import InvalidInputError
from sketchlasso.linalg.device import Device
from sketchlasso.types import FloatArray, RealArray

# Columns multiplied at a time, so that memory does not depend on the rank.
STRIP = 64


class BlockStorage(Storage):
    """A matrix in blocks of rows, processed by the current engine.

    Sums of columns, of squares, the density and the digest come from one pass, made when the
    first of them is requested.
    """

    fused = True

    def __init__(self, matrix: BlockMatrix, dtype: Any = None) -> None:
        self.matrix: BlockMatrix = matrix
        self.shape, self.dtype = matrix.shape, matrix.dtype if dtype is None else np.dtype(dtype)

    @property
    def density(self) -> float:
        """Share of entries that are stored."""
        m, n = self.shape
        return self.matrix.surveyed().stored / (m * n)

    @property
    def surveyed(self) -> bool:
        """Whether the one pass for sums has been made."""
        return self.matrix.is_surveyed

    def in_double(self) -> BlockStorage:
        """Return the same entries with products in float64; blocks are converted one by one."""
        return BlockStorage(self.matrix, np.float64)

    def matmat(self, V: RealArray) -> RealArray:
        """Return X V."""
        return np.concatenate(self.matrix.run_collect(at_blocks.centred_product, (V, None)))

    def rmatmat(self, U: RealArray) -> RealArray:
        """Return X'U."""
        own = [(rows,) for rows in self.matrix.split(U)]
        return np.asarray(self.matrix.run_sum(at_blocks.of_storage, ("rmatmat",), own))

    def gram_matmat(
        self, V: RealArray, shift: RealArray | None = None
    ) -> tuple[RealArray, FloatArray]:
        """Return X'B and 1'B for B = X V - 1 shift', in one pass and without B."""
        product, sums = self.matrix.run_sum(at_blocks.gram_product, (V, shift))
        return product, sums

    def squared_norm(self) -> float:
        """Return the sum of all squared entries."""
        return self.matrix.surveyed().squares

    def column_sums(self) -> FloatArray:
        """Return X'1."""
        return self.matrix.surveyed().sums

    def column_deviations(self, means: FloatArray) -> FloatArray:
        """Return the squared deviations of each column from `means`."""
        return self.matrix.surveyed().deviations(means)

    def row_deviations(self, means: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the weighted squared deviations of each row from `means`."""
        work = ("row_deviations", means, weights)
        return np.concatenate(self.matrix.run_collect(at_blocks.of_storage, work))

    def fingerprint(self) -> str:
        """Return a digest of the blocks' digests; it depends on how X is cut."""
        digest = new_digest("blocks", self.shape, self.matrix.dtype)
        for part in self.matrix.surveyed().digests:
            digest.update(part.encode())
        return digest.hexdigest()


class OperatorStorage(Storage):
    """A linear operator, which only supports products."""

    has_entries = False

    def __init__(self, operator: LinearOperator) -> None:
        self._operator = operator
        self.shape = int(operator.shape[0]), int(operator.shape[1])
        self.dtype = floating(operator.dtype)

    def matmat(self, V: RealArray) -> RealArray:
        """Return X V."""
        return self._checked(self._operator.matmat(V))

    def rmatmat(self, U: RealArray) -> RealArray:
        """Return X'U."""
        try:
            product = self._operator.rmatmat(U)
        except (NotImplementedError, TypeError) as missing:
            raise InvalidInputError(
                "X is a LinearOperator without a transposed product, but a sketch needs both "
                "products; define rmatvec or rmatmat."
            ) from missing
        return self._checked(product)

    def column_sums(self) -> FloatArray:
        """Return X'1."""
        ones = np.ones((self.shape[0], 1), dtype=self.dtype)
        return self.rmatmat(ones)[:, 0].astype(np.float64)

    @property
    def matrix(self) -> Any:
        """Refuse: an operator has no entries."""
        raise no_entries("rows and entries")

    def fingerprint(self) -> str:
        """Return a digest of shape and type only: the entries cannot be read."""
        return new_digest("operator", self.shape, self.dtype).hexdigest()

    def _checked(self, product: NDArray[Any]) -> RealArray:
        product = np.array(product, dtype=self.dtype)
        if not np.isfinite(product).all():
            raise InvalidInputError(
                "X is a LinearOperator whose product holds NaN or infinity, but every entry must "
                "be finite; correct the operator."
            )
        return product


class DeviceProducts:
    """Products of dense or sparse entries, computed by PyTorch.

    Where the entries and a thin factor fit the device's memory they stay there; where they do not,
    blocks of rows are copied there for every product. The digest of large entries takes as long as
    all products, so it is computed in parallel.
    """

    def __init__(self, base: DenseStorage | SparseStorage, device: Device) -> None:
        self._device, self._matrix, self._dtype = device, base.matrix, base.dtype
        m, n = base.shape
        stored = base.density * n * (self._dtype.itemsize + (0 if base.density == 1.0 else 8))
        # A sparse block is stored twice, by rows and by columns, and sorted once.
        each = 3 * stored + 64.0
        # Factors and products of a strip, one more product for its sum.
        fixed = 2 * STRIP * (m + n) * self._dtype.itemsize
        device.refuse_small(int(fixed + each), "a product with one row of X")
        rows = max(1, int(min(m, (device.budget - fixed) / each)))
        self._edges = [*range(0, m, rows), m]
        with device.at_work():
            self._resident = self._load(0, m) if rows >= m else None
        beside = ThreadPoolExecutor(1)
        self.digest = beside.submit(base.fingerprint)
        beside.shutdown(wait=False)

    def matmat(self, V: RealArray) -> RealArray:
        """Return X V."""
        return self._in_strips(V, self._matmat)

    def rmatmat(self, U: RealArray) -> RealArray:
        """Return X'U."""
        return self._in_strips(U, self._rmatmat)

    def gram_matmat(
        self, V: RealArray, shift: RealArray | None = None
    ) -> tuple[RealArray, FloatArray]:
        """Return X'B and 1'B for B = X V - 1 shift', with B on the device alone."""
        less = np.zeros(V.shape[1]) if shift is None else np.asarray(shift)
        with self._device.at_work():
            parts = [self._gram(V[:, own], less[own]) for own in _strips(V.shape[1])]
        return np.hstack([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    def _in_strips(self, V: RealArray, multiply: Callable[[RealArray], RealArray]) -> RealArray:
        with self._device.at_work():
            return np.hstack([multiply(V[:, own]) for own in _strips(V.shape[1])])

    def _matmat(self, V: RealArray) -> RealArray:
        right = self._tensor(V)
        return np.concatenate([(block[0] @ right).cpu().numpy() for _, block in self._blocks()])

    def _rmatmat(self, U: RealArray) -> RealArray:
        left = self._tensor(U)
        total: Any = 0.0
        for rows, block in self._blocks():
            total = total + block[1] @ left[rows]
        return np.asarray(total.cpu().numpy())

    def _gram(self, V: RealArray, shift: RealArray) -> tuple[RealArray, FloatArray]:
        right, less = self._tensor(V), self._tensor(shift)
        total: Any = 0.0
        sums: Any = 0.0
        for _, block in self._blocks():
            image = block[0] @ right - less
            total, sums = total + block[1] @ image, sums + image.double().sum(0)
        return np.asarray(total.cpu().numpy()), np.asarray(sums.cpu().numpy())

    def _tensor(self, values: RealArray) -> Any:
        return self._device.tensor(np.ascontiguousarray(values, dtype=self._dtype))

    def _blocks(self) -> Any:
        """Row slices with X and X' of these rows on the device."""
        if self._resident is not None:
            yield slice(None), self._resident
            return
        for start, stop in pairwise(self._edges):
            yield slice(start, stop), self._load(start, stop)

    def _load(self, start: int, stop: int) -> tuple[Any, Any]:
        whole = (start, stop) == (0, self._matrix.shape[0])
        entries = self._matrix if whole else self._matrix[start:stop]
        if not sparse.issparse(entries):
            block = self._device.tensor(np.ascontiguousarray(entries, dtype=self._dtype))
            return block, block.T
        rows, torch = sparse.csr_array(entries), self._device.torch
        wide = max(rows.nnz, *rows.shape) >= 2**31
        kind = torch.int64 if wide else torch.int32
        with warnings.catch_warnings():
            # PyTorch warns that its compressed matrices are in beta; we use only their products.
            warnings.simplefilter("ignore", UserWarning)
            by_rows = torch.sparse_csr_tensor(
                self._device.tensor(rows.indptr, kind),
                self._device.tensor(rows.indices, kind),
                self._device.tensor(rows.data),
                rows.shape,
            )
            return by_rows, by_rows.transpose(0, 1).to_sparse_csr()


def _strips(columns: int) -> list[slice]:
    """Columns that are multiplied at a time."""
    return [slice(start, start + STRIP) for start in range(0, columns, STRIP)] or [slice(0, 0)]
