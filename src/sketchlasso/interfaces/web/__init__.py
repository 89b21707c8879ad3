"""The explorers: a page and a JSON API over a fitted TopicImager or a network; extra `web`.

Importing this does not need the extra; using it does.
"""

from sketchlasso.interfaces.web.server import create_app, serve

__all__ = ["create_app", "serve"]
