"""The explorers: a page and a JSON API over a fitted TopicImager or a network; extra `web`.

Importing this does not need the extra; using it does. Requests pass through::

    Protection ──► Door ──► routes ──► limits ──► Gate ──► answers ──► payloads
    (host, method, (too     network    (text to   (threads,
     headers)       many)               values)    limits)

`Protection`, `Door` and `Gate` are in gate.py.
"""

from sketchlasso.interfaces.web.limits import Limits
from sketchlasso.interfaces.web.server import create_app, serve

__all__ = ["Limits", "create_app", "serve"]
