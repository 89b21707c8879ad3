"""Many at once: bounded work, bounded waiting, bounded time, and an event loop that answers."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from tests.explored import running

from sketchlasso.interfaces.web import Limits, create_app
from sketchlasso.interfaces.web.answers import Answers
from sketchlasso.interfaces.web.gate import BusyError, Gate, SlowError
from sketchlasso.interfaces.web.routes import SOLVED


class Blocked:
    """Work that lasts until it is released, and counts how much of it runs at once."""

    def __init__(self):
        self.free = threading.Event()
        self.lock = threading.Lock()
        self.running = self.most = 0

    def __call__(self):
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        self.free.wait(60)
        with self.lock:
            self.running -= 1
        return "done"


def test_work_and_waiting_are_bounded():
    work = Blocked()
    gate = Gate(Limits(workers=2, waiting=3, seconds=10))

    async def scene():
        tasks = [asyncio.create_task(gate.run(work)) for _ in range(5)]
        await asyncio.sleep(0.1)
        assert gate.inside == 5
        with pytest.raises(BusyError):
            await gate.run(work)
        work.free.set()
        assert await asyncio.gather(*tasks) == ["done"] * 5
        return await gate.run(lambda: "after")

    assert asyncio.run(scene()) == "after"
    assert work.most == 2
    assert gate.inside == 0
    gate.close()


def test_time_is_bounded_and_places_are_given_back():
    work = Blocked()
    gate = Gate(Limits(workers=1, waiting=1, seconds=1.0))

    async def scene():
        running = asyncio.create_task(gate.run(work))
        await asyncio.sleep(0.02)
        waiting = asyncio.create_task(gate.run(lambda: "never"))
        with pytest.raises(SlowError):
            await running
        with pytest.raises(BusyError):
            await waiting
        # What runs cannot be stopped: it keeps its place until it ends.
        assert gate.inside == 1
        work.free.set()
        while gate.inside:
            await asyncio.sleep(0.01)
        return await gate.run(lambda: "again")

    assert asyncio.run(scene()) == "again"
    gate.close()


def test_a_wait_ends_long_before_the_time_of_the_work():
    work = Blocked()
    gate = Gate(Limits(workers=1, waiting=5, wait_seconds=0.05, seconds=10))

    async def scene():
        running = asyncio.create_task(gate.run(work))
        await asyncio.sleep(0.02)
        with pytest.raises(BusyError):
            await gate.run(lambda: "never")
        # What was begun is not given up, and what was refused does not keep its place.
        assert gate.inside == 1
        work.free.set()
        return await running

    assert asyncio.run(scene()) == "done"
    gate.close()


def test_errors_of_the_work_come_through():
    gate = Gate(Limits())

    async def scene():
        with pytest.raises(ZeroDivisionError):
            await gate.run(lambda: 1 // 0)
        assert gate.inside == 0

    asyncio.run(scene())
    gate.close()


def over(application):
    transport = httpx.ASGITransport(application)
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=90)


@pytest.fixture
def blocked(monkeypatch):
    work = Blocked()
    real = Answers.image
    monkeypatch.setattr(Answers, "image", lambda self, query: work() and real(self, query))
    yield work
    work.free.set()


def test_a_full_server_answers_503_and_stays_responsive(imager, blocked):
    patient = Limits(workers=1, waiting=1, wait_seconds=60, seconds=60)
    application = create_app(imager, limits=patient)

    async def scene():
        async with over(application) as client:
            tasks = [asyncio.create_task(client.get("/api/image?word=sea")) for _ in range(2)]
            while (await client.get("/api/health")).json()["inside"] < 2 or not blocked.running:
                await asyncio.sleep(0.01)
            refused = await client.get("/api/image?word=sea")
            assert refused.status_code == 503
            assert refused.headers["retry-after"] == "1"
            assert "busy" in refused.json()["message"]
            # Pages and health need no worker: they come while the only one is still at work.
            assert (await client.get("/api/health")).json() == {"status": "ok", "inside": 2}
            assert (await client.get("/")).status_code == 200
            assert blocked.running == 1
            assert not any(task.done() for task in tasks)
            blocked.free.set()
            assert [one.status_code for one in await asyncio.gather(*tasks)] == [200, 200]

    asyncio.run(scene())


def test_a_full_server_refuses_queries_before_it_reads_them(imager, blocked):
    application = create_app(imager, limits=Limits(workers=1, waiting=0, seconds=10))
    # Malformed, but only who reads them finds out.
    queries = [f"{path}?word=sea&n_words=ten&first=sea" for path in SOLVED]

    async def scene():
        async with over(application) as client:
            first = asyncio.create_task(client.get("/api/image?word=sea"))
            while not blocked.running:
                await asyncio.sleep(0.01)
            refused = [await client.get(query) for query in queries]
            others = [await client.get(path) for path in ("/", "/api/health", "/api/words")]
            foreign = await client.get(queries[0], headers={"host": "elsewhere.example"})
            blocked.free.set()
            assert (await first).status_code == 200
            read = [await client.get(query) for query in queries]
        return refused, others, foreign, read

    refused, others, foreign, read = asyncio.run(scene())
    assert [answer.status_code for answer in read] == [422] * len(SOLVED)
    assert [answer.status_code for answer in others] == [200] * 3
    assert foreign.status_code == 400
    for answer in refused:
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert "busy" in answer.json()["message"]
        assert answer.headers.get_list("x-frame-options") == ["DENY"]


def test_every_address_that_solves_can_answer_503(imager):
    paths = create_app(imager).openapi()["paths"]
    busy = {path for path, about in paths.items() if "503" in about["get"]["responses"]}
    # Completions have a worker of their own, topics and the map a thread.
    assert busy - {"/api/words", "/api/topics", "/api/map"} == set(SOLVED)


def test_a_query_without_end_is_given_up(imager, blocked):
    application = create_app(imager, limits=Limits(workers=1, waiting=4, seconds=0.1))

    async def scene():
        async with over(application) as client:
            answers = await asyncio.gather(*(client.get("/api/image?word=sea") for _ in range(2)))
            assert sorted(one.status_code for one in answers) == [503, 504]
            assert "took too long" in next(one for one in answers if one.status_code == 504).text

    asyncio.run(scene())


def test_compiling_may_take_longer_than_a_query(imager, monkeypatch):
    real = Answers.warm
    monkeypatch.setattr(Answers, "warm", lambda self: time.sleep(0.3) or real(self))
    with running(create_app(imager, limits=Limits(seconds=0.1))) as address:
        assert httpx.get(f"{address}/api/health").status_code == 200


def test_fifty_clients_get_the_same_answers_as_one(imager, asking):
    words = [str(word) for word in imager.words_[:25]] * 2
    patient = Limits(waiting=50, wait_seconds=60, seconds=60)

    def answer(word):
        body = client.get("/api/image", params={"word": word, "n_words": 5}).json()
        return {key: value for key, value in body.items() if key != "seconds"}

    with asking(create_app(imager, limits=patient)) as client:
        alone = [answer(word) for word in words[:25]] * 2
        with ThreadPoolExecutor(50) as crowd:
            assert list(crowd.map(answer, words)) == alone
