"""How strongly rows correlate with the response: the largest few of every instance."""

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
from sketchlasso.types import FloatArray

__all__ = ["strongest_levels"]


def strongest_levels(batch: Batch, count: int, settings: Settings) -> FloatArray:
    """The largest |R u| (B, count) at the null model's u, largest first; R u where w >= 0.

    Parameters
    ----------
    batch : Batch
        Without penalty factors; excluded features count as zero.
    count : int
        At most the number of features.
    settings : Settings
        Device, memory and threads.
    """
    device = open_device(settings.device, settings.device_memory)
    if device is not None:
        with device.at_work():
            return _on_device(batch, count, device)
    parts = []
    for chunk in chunks_of(batch, settings, batch.n_instances):
        part = batch.take(chunk)
        seen = correlate(part, null_model(part).dual, n_threads=settings.n_threads)
        level = magnitude(seen, batch.positive)
        top = -np.partition(-level, count - 1, axis=1)[:, :count].astype(np.float64)
        parts.append(-np.sort(-top, axis=1))
    return np.concatenate(parts)


def _on_device(batch: Batch, count: int, device: Device) -> FloatArray:
    shared = SharedFactor.of(batch, device)
    size = chunk_size(batch, device, 24 * count * batch.rank, "one problem with its shared factor")
    parts = []
    for start in range(0, batch.n_instances, size):
        data = DeviceBatch(batch.take(slice(start, start + size)), shared)
        u = data.null_dual()
        which = device.torch.arange(data.size, device=u.device)
        rows = data.choose(u, which, None, count).rows
        level = magnitude(rows.see(u), batch.positive) * rows.thresholds.isfinite()
        parts.append(level.sort(dim=1, descending=True).values.cpu().numpy())
    return np.concatenate(parts)
