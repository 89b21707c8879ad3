"""Seeds: every random choice derives from one integer, which results can record."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from sketchlasso.errors import unaccepted
from sketchlasso.types import is_whole

RandomState: TypeAlias = "int | np.random.Generator | np.random.RandomState | None"


def seed_of(random_state: RandomState) -> int:
    """Return the seed that a random state stands for; None draws a fresh one."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if is_whole(random_state) and random_state >= 0:
        return int(random_state)
    accepted = "an integer >= 0, or a Generator or RandomState of NumPy"
    raise unaccepted("random_state", random_state, accepted)
