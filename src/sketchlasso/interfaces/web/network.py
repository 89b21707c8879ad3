"""The explorer of a network: what is asked about nodes and links; needs the extra `web`."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, FastAPI, Query

import sketchlasso as sl
from sketchlasso.errors import UnknownWordError
from sketchlasso.interfaces.web.application import LONGEST_NAME, Body, application_of
from sketchlasso.interfaces.web.mapping import graph_map


def network_explorer(graph: Any, source: str, hosts: Sequence[str]) -> FastAPI:
    """Return the application that explores a graph; `source` is the name that the page shows."""
    network = Network(graph)
    router = APIRouter(prefix="/api")

    @router.get("/about", summary="The network")
    def about() -> Body:
        return {
            "version": sl.__version__,
            "source": source,
            "n_nodes": len(graph),
            "n_links": len(graph.edges),
            "attributes": network.attributes,
        }

    @router.get("/map", summary="The whole network, with places and communities")
    def whole_map() -> Body:
        return network.map

    @router.get("/nodes", summary="Nodes by name; those with most links without a prefix")
    def nodes(
        prefix: Annotated[str, Query(max_length=LONGEST_NAME)] = "",
        count: Annotated[int, Query(ge=1, le=50)] = 10,
    ) -> Body:
        return {"prefix": prefix, "nodes": network.nodes(prefix, count)}

    @router.get("/neighbours", summary="The links of a node, the strongest first")
    def neighbours(
        name: Annotated[str, Query(max_length=LONGEST_NAME)],
        count: Annotated[int, Query(ge=1, le=500)] = 50,
    ) -> Body:
        return network.neighbours(name, count)

    return application_of(
        router,
        hosts,
        title="sketchlasso network explorer",
        summary="Ask a network about a node: its links, how strong and how certain they are.",
        home="network.html",
        start=lambda: network.map,
    )


class Network:
    """Answers about one graph."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        names = dict.fromkeys(name for *_, facts in graph.edges(data=True) for name in facts)
        self.attributes = [name for name in names if name not in ("weight", "sign")]
        self._degrees = dict(graph.degree)
        # The most linked first.
        self._names = sorted(self._degrees, key=self._degrees.__getitem__, reverse=True)

    @cached_property
    def map(self) -> Body:
        """The map; the first look lays it out, which takes some seconds for 10,000 nodes."""
        groups = np.array(list(sl.graphs.communities(self._graph).values()))
        return graph_map(self._graph, groups, self._degrees)

    def nodes(self, text: str, count: int) -> list[Body]:
        """Find nodes by name: those that begin with the text before those that contain it."""
        wanted = text.strip().casefold()
        names = [name for name in self._names if wanted in name.casefold()]
        names.sort(key=lambda name: not name.casefold().startswith(wanted))
        return [{"name": name, "links": self._degrees[name]} for name in names[:count]]

    def neighbours(self, name: str, count: int) -> Body:
        """List the strongest links of a node."""
        if name not in self._graph:
            close = tuple(get_close_matches(name, self._names, n=5))
            raise UnknownNodeError(name, close)
        links = sorted(self._graph[name].items(), key=lambda item: -item[1]["weight"])
        return {
            "name": name,
            "n_links": len(links),
            "neighbours": [
                {
                    "name": other,
                    "weight": facts["sign"] * facts["weight"],
                    "attributes": {key: facts[key] for key in self.attributes if key in facts},
                }
                for other, facts in links[:count]
            ],
        }


class UnknownNodeError(UnknownWordError):
    """A name that is not in the network; the refusal offers similar ones, as for words."""

    def __init__(self, name: str, suggestions: tuple[str, ...]) -> None:
        super().__init__(name, suggestions)
        hint = f"did you mean {', '.join(suggestions)}?" if suggestions else "ask for another one."
        self.args = (f"{name!r} is not a node of the network; {hint}",)
