"""The explorers: a page and a JSON API over a fitted TopicImager or a network; extra `web`.

Importing this does not need the extra; using it does. Requests walk one way::

    protection ──► door ──► routes ──► queries ──► gate ──► answers ──► payloads
    (host, method, (too              (text to     (threads,  (the imager)
     headers)       many)             values)      limits)
"""

from sketchlasso.interfaces.web.limits import Limits
from sketchlasso.interfaces.web.network import create_network_app, serve_network
from sketchlasso.interfaces.web.server import create_app, serve

__all__ = ["Limits", "create_app", "create_network_app", "serve", "serve_network"]
