"""The explorers: a page and a JSON API over a fitted TopicImager or a network; extra `web`.

Importing this does not need the extra; using it does. Requests pass through::

    protection ──► gate.Door ──► routes ──► queries ──► gate ──► answers ──► payloads
    (host, method, (too many)    network    (text to    (threads,
     headers)                                values)     limits)
"""

from sketchlasso.interfaces.web.limits import Limits
from sketchlasso.interfaces.web.server import create_app, serve

__all__ = ["Limits", "create_app", "serve"]
