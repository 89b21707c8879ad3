"""Docstrings are reduced to their prose."""

import pytest

from sketchlasso.topics.docstrings import prose, without_repeated

FULL = """Compute the *discrete* transform.

.. versionadded:: 1.4
   Written anew.

Parameters
----------
a, b : array_like of shape (n,)
    Input array, may be complex.
norm : {"backward", "ortho"}, optional
    Normalization mode, see `numpy.fft`.

Returns
-------
out : complex ndarray
    The truncated input.

See Also
--------
ifft : Inverse of it.

Notes
-----
It uses :func:`numpy.roll` and the :ref:`user guide <guide>`, in O(n log n), as in

.. math:: x_k = \\sum y

or :math:`e^{x}`. Symmetries help::

    code = not_prose()

.. note:: Power of two is quickest.

References
----------
.. [1] Cooley and Tukey, https://example.org/paper.

Examples
--------
A first sight of it:

>>> import numpy as np
>>> print(np.fft.fft([1]))
array of printed things

It ends here.
"""


def test_a_whole_docstring():
    text = prose(FULL)
    for kept in (
        "Compute the *discrete* transform.",
        "Input array, may be complex.",
        "Normalization mode, see",
        "The truncated input.",
        "user guide",
        "Symmetries help",
        "A first sight of it:",
        "It ends here.",
    ):
        assert kept in text
    for gone in (
        "array_like",
        "backward",
        "versionadded",
        "Written anew",
        "Parameters",
        "ndarray",
        "Inverse",
        "numpy",
        "math",
        "sum",
        "code",
        "Cooley",
        "https",
        "import",
        "printed",
        "---",
        "Notes",
    ):
        assert gone not in text, gone


@pytest.mark.parametrize(
    ("docstring", "words"),
    [
        ("", ""),
        ("One line.", "One line."),
        ("Heading\n=======\nBelow it.", "Heading Below it."),
        (
            "Open it.\n\n:param path: where it lies\n:returns: a file",
            "Open it.\n\nwhere it lies a file",
        ),
        ("Args:\n    path: kept text", "path: kept text"),
        ("See ``os.path`` or os.path.join(a) at www.python.org now", "See or at now"),
        ("Use `x`_ with |name| and %(doc)s", "Use with and"),
        ("Write to me@example.org soon", "Write to soon"),
        ("A DatetimeIndex raises KeyError.", "A raises ."),
        ("A DataFrame of NaNs, in dB", "A DataFrame of NaNs, in"),
        ("Notes\n-----\nPrice : dear, it is said", "Price : dear, it is said"),
    ],
)
def test_pieces(docstring, words):
    assert prose(docstring) == words


def test_pasted_sentences_go_and_others_stay():
    pasted = "Read more in the guide."
    texts = [f"About {word}. {pasted}\n\nIt ends: here." for word in ("sea", "wave", "wind")]
    assert without_repeated(texts, 2) == ["About sea.", "About wave.", "About wind."]
    assert without_repeated(texts, 3)[0] == f"About sea. {pasted} It ends: here."
    twice_in_one = ["Again. Again. Again.", "Once."]
    assert without_repeated(twice_in_one, 1) == twice_in_one
