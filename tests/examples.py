"""How many examples a property is tried on."""

import os

from hypothesis import settings

# A third finds what a change breaks; all of them look for what nobody has thought of.
SHARE = 1 if os.environ.get("HYPOTHESIS_PROFILE") == "explore" else 3
FEWEST = 25


def examples(many):
    """Draw `many` examples with HYPOTHESIS_PROFILE=explore, a third otherwise, but at least 25."""
    return settings(max_examples=max(many // SHARE, min(FEWEST, many)), deadline=None)
