"""The explorer of a network: what is asked about nodes and links; needs the extra `web`."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from fastapi import APIRouter, FastAPI, Query, Request, Response
from pydantic import BaseModel, Field

import sketchlasso as sl
from sketchlasso.errors import InvalidInputError
from sketchlasso.interfaces.web import payloads
from sketchlasso.interfaces.web.application import application_of
from sketchlasso.interfaces.web.gate import Gate
from sketchlasso.interfaces.web.limits import Limits
from sketchlasso.interfaces.web.mapping import encoded, graph_map
from sketchlasso.interfaces.web.routes import REFUSED

# Addresses whose answers need a worker.
ASKED = ("/api/nodes", "/api/neighbours")
MOST_NEIGHBOURS = 500


class NetworkAbout(BaseModel):
    """The network behind this server."""

    version: str
    source: str
    n_nodes: int
    n_links: int
    attributes: list[str] = Field(description="Other values that every link has.")


class Node(BaseModel):
    """A node and how many links it has."""

    name: str
    links: int


class Nodes(BaseModel):
    """Nodes whose names begin with a text or contain it, those with most links first."""

    prefix: str
    nodes: list[Node]


class Neighbour(BaseModel):
    """A linked node."""

    name: str
    weight: float = Field(description="Negative if one decreases as the other increases.")
    attributes: dict[str, float] = Field(description="Such as stability and p_value.")


class Neighbours(BaseModel):
    """The nodes linked to one, the strongest first."""

    name: str
    n_links: int = Field(description="All links of the node, listed or not.")
    neighbours: list[Neighbour]


class NetworkAnswers:
    """Answers about one graph; safe to ask from several threads."""

    def __init__(self, graph: Any, source: str, limits: Limits) -> None:
        self._graph = graph
        self._source = source
        self._limits = limits
        self._map: payloads.Page | None = None
        names = dict.fromkeys(name for *_, facts in graph.edges(data=True) for name in facts)
        self._attributes = [name for name in names if name not in ("weight", "sign")]
        self.links = dict(graph.degree)
        # Names and their case-folded forms, the most linked first.
        self._searched = [
            (name, name.casefold())
            for name in sorted(self.links, key=self.links.__getitem__, reverse=True)
        ]

    def draw(self) -> payloads.Page:
        """Return the map; the first call lays it out, which takes some seconds for 10,000 nodes."""
        if self._map is None:
            groups = np.array(list(sl.graphs.communities(self._graph).values()))
            self._map = encoded(graph_map(self._graph, groups, self.links, self._limits))
        return self._map

    def about(self) -> NetworkAbout:
        """Describe the network."""
        return NetworkAbout(
            version=sl.__version__,
            source=self._source,
            n_nodes=len(self._graph),
            n_links=len(self._graph.edges),
            attributes=self._attributes,
        )

    def nodes(self, text: str, count: int) -> Nodes:
        """Find nodes by name: those that begin with the text before those that contain it."""
        wanted = text.strip().casefold()
        found = [pair for pair in self._searched if wanted in pair[1]]
        found.sort(key=lambda pair: not pair[1].startswith(wanted))
        nodes = [Node(name=name, links=self.links[name]) for name, _ in found[:count]]
        return Nodes(prefix=text, nodes=nodes)

    def neighbours(self, name: str, count: int) -> Neighbours:
        """List the strongest links of a node."""
        if name not in self._graph:
            close = get_close_matches(name, self.links, n=1)
            hint = f" (nearest: {close[0]!r})" if close else ""
            raise InvalidInputError(
                f"{name!r} is not a node of the graph{hint}; give one of its {len(self._graph)} "
                "nodes."
            )
        found = sorted(self._graph[name].items(), key=lambda item: -item[1]["weight"])
        return Neighbours(
            name=name,
            n_links=len(found),
            neighbours=[
                Neighbour(
                    name=other,
                    weight=facts["sign"] * facts["weight"],
                    attributes={key: facts[key] for key in self._attributes if key in facts},
                )
                for other, facts in found[:count]
            ],
        )


def network_explorer(graph: Any, source: str, limits: Limits, hosts: Sequence[str]) -> FastAPI:
    """Return the application that explores a graph; `source` is the name that the page shows."""
    answers, gate = NetworkAnswers(graph, source, limits), Gate(limits)
    router = APIRouter(prefix="/api")
    about_network = answers.about()

    @router.get("/about", summary="The network")
    async def about() -> NetworkAbout:
        return about_network

    @router.get(
        "/map",
        summary="The whole network, with places and communities",
        response_model=payloads.Map,
    )
    async def whole_map(request: Request) -> Response:
        return await answers.draw().response(request)

    @router.get("/nodes", summary="Nodes by name", responses=REFUSED)
    async def nodes(
        prefix: str = Query("", description="Empty for the nodes with most links."),
        count: int = Query(10, ge=1, le=limits.completions),
    ) -> Nodes:
        return await gate.run(lambda: answers.nodes(prefix, count))

    @router.get("/neighbours", summary="The links of a node", responses=REFUSED)
    async def neighbours(
        name: str = Query(description="As the network writes it."),
        count: int = Query(50, ge=1, le=MOST_NEIGHBOURS),
    ) -> Neighbours:
        return await gate.run(lambda: answers.neighbours(name, count))

    return application_of(
        router,
        hosts,
        title="sketchlasso network explorer",
        summary="Ask a network about a node: its links, how strong and how certain they are.",
        home="network.html",
        start=answers.draw,
        gate=gate,
        gated=ASKED,
    )
