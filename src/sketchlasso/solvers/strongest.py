"""Which rows correlate most with the response: the strongest few of every instance."""

from __future__ import annotations

import numpy as np

from sketchlasso.linalg.device import Device, open_device
from sketchlasso.problem.batch import Batch
from sketchlasso.problem.dual import correlate
from sketchlasso.problem.formulas import magnitude
from sketchlasso.problem.optimality import null_model
from sketchlasso.solvers.device.run import chunk_size
from sketchlasso.solvers.device.working import DeviceBatch, SharedFactor
from sketchlasso.solvers.driver import chunks_of
from sketchlasso.solvers.settings import Settings
from sketchlasso.types import FloatArray, IntArray


def strongest_features(batch: Batch, count: int, settings: Settings) -> tuple[IntArray, FloatArray]:
    """The features (B, count) with the largest |R u| at the null model's u, and these |R u|.

    Both are in decreasing order. The batch has no penalty factors; its excluded features count as
    zero. Where w >= 0 is asked for, R u counts instead of |R u|.
    """
    device = open_device(settings.device, settings.device_memory)
    if device is not None:
        with device.at_work():
            parts = _on_device(batch, count, device)
    else:
        parts = []
        for chunk in chunks_of(batch, settings, batch.n_instances):
            part = batch.take(chunk)
            seen = correlate(part, null_model(part).dual, n_threads=settings.n_threads)
            level = magnitude(seen, batch.positive)
            top = np.argpartition(-level, count - 1, axis=1)[:, :count]
            parts.append((top, np.take_along_axis(level, top, axis=1).astype(np.float64)))
    features, levels = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(-levels, axis=1, kind="stable")
    return np.take_along_axis(features, order, axis=1), np.take_along_axis(levels, order, axis=1)


def _on_device(batch: Batch, count: int, device: Device) -> list[tuple[IntArray, FloatArray]]:
    shared = SharedFactor.of(batch, device)
    size = chunk_size(batch, device, 24 * count * batch.rank, "problem")
    parts = []
    for start in range(0, batch.n_instances, size):
        data = DeviceBatch(batch.take(slice(start, start + size)), shared)
        u = data.null_dual()
        which = device.torch.arange(data.size, device=u.device)
        chosen = data.choose(u, which, None, count)
        level = magnitude(chosen.rows.see(u), batch.positive) * chosen.rows.thresholds.isfinite()
        parts.append((chosen.index.cpu().numpy(), level.cpu().numpy()))
    return parts
