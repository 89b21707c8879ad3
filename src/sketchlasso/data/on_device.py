"""Entries on a GPU: products are computed there, everything else on the CPU."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from scipy import sparse

from sketchlasso.data.storage import DenseStorage, SparseStorage, Storage
from sketchlasso.linalg.device import Device
from sketchlasso.types import FloatArray, RealArray

# Columns multiplied at a time, so that memory does not depend on the rank.
STRIP = 64


class DeviceStorage(Storage):
    """Dense or sparse entries whose products are computed by PyTorch.

    Where the entries and a thin factor fit the device's memory they stay there; where they do not,
    blocks of rows are copied there for every product.
    """

    def __init__(self, base: DenseStorage | SparseStorage, device: Device) -> None:
        self._base, self._device, self.matrix = base, device, base.matrix
        self.shape, self.dtype = base.shape, base.dtype
        m, n = base.shape
        stored = base.density * n * (self.dtype.itemsize + (0 if base.density == 1.0 else 8))
        # A sparse block is stored twice, by rows and by columns, and sorted once.
        each = 3 * stored + 64.0
        # Factors and products of a strip, one more product for its sum.
        fixed = 2 * STRIP * (m + n) * self.dtype.itemsize
        device.refuse_small(int(fixed + each), "a product with one row of X")
        rows = max(1, int(min(m, (device.budget - fixed) / each)))
        self._edges = [*range(0, m, rows), m]
        with device.at_work():
            self._resident = self._load(0, m) if rows >= m else None
        # The digest of large entries takes as long as all products: compute it in parallel.
        beside = ThreadPoolExecutor(1)
        self._digest = beside.submit(base.fingerprint)
        beside.shutdown(wait=False)

    @property
    def density(self) -> float:
        """Share of entries that are stored."""
        return self._base.density

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
        return self._device.tensor(np.ascontiguousarray(values, dtype=self.dtype))

    def _blocks(self) -> Any:
        """Row slices with X and X' of these rows on the device."""
        if self._resident is not None:
            yield slice(None), self._resident
            return
        for start, stop in zip(self._edges, self._edges[1:], strict=False):
            yield slice(start, stop), self._load(start, stop)

    def _load(self, start: int, stop: int) -> tuple[Any, Any]:
        whole = (start, stop) == (0, self.shape[0])
        entries = self.matrix if whole else self.matrix[start:stop]
        if not sparse.issparse(entries):
            block = self._device.tensor(np.ascontiguousarray(entries, dtype=self.dtype))
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

    def squared_norm(self) -> float:
        """Return the sum of all squared entries."""
        return self._base.squared_norm()

    def column_sums(self) -> FloatArray:
        """Return X'1."""
        return self._base.column_sums()

    def column_deviations(self, means: FloatArray) -> FloatArray:
        """Return the squared deviations of each column from `means`."""
        return self._base.column_deviations(means)

    def row_deviations(self, means: FloatArray, weights: FloatArray) -> FloatArray:
        """Return the weighted squared deviations of each row from `means`."""
        return self._base.row_deviations(means, weights)

    def fingerprint(self) -> str:
        """Return the digest of the entries."""
        return self._digest.result()


def _strips(columns: int) -> list[slice]:
    """Columns that are multiplied at a time."""
    return [slice(start, start + STRIP) for start in range(0, columns, STRIP)] or [slice(0, 0)]
