"""The text of a refusal."""

import pytest

from sketchlasso.errors import SketchlassoError


def refusal(kind, call, *args, **kwargs):
    """Return the message with which a call is refused."""
    assert issubclass(kind, SketchlassoError)
    with pytest.raises(kind) as caught:
        call(*args, **kwargs)
    return str(caught.value)
