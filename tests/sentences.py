"""Every refusal is one sentence: what is accepted, what came, and what to do if not obvious."""

import re

import pytest

from sketchlasso.errors import SketchlassoError


def refusal(kind, call, *args, **kwargs):
    """Return the one sentence with which a call is refused."""
    assert issubclass(kind, SketchlassoError)
    with pytest.raises(kind) as caught:
        call(*args, **kwargs)
    text = str(caught.value)
    assert text.endswith("."), text
    assert not re.search(r"[.!?]\s+[A-Z]", text), text
    assert "\n" not in text, text
    assert ";" in text or re.search(r" must .*, not ", text), text
    return text
