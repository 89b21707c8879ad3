"""A small fitted model, for the explorer to show."""

import threading
import time
from contextlib import contextmanager
from functools import cache

import numpy as np

from sketchlasso.topics import TopicImager

# Seconds after which a test takes an answer for lost. Other tests run beside, so it is long.
PATIENCE = 60

SUBJECTS = {
    "sea": "wave tide ship sail harbour anchor storm coast fish salt island captain",
    "music": "violin melody chord rhythm opera singer concert piano tempo harmony drum choir",
    "garden": "flower seed soil root leaf rose tree spade hedge lawn bulb water",
    "physics": "energy force mass quantum particle field photon atom charge spin momentum wave",
    "bread": "flour yeast oven dough crust butter wheat baker loaf water salt grain",
}
# What would run or break a page that took it for markup.
HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=1</script>'


def documents(count=300, seed=0):
    """Documents about one subject, with some words of another."""
    rng = np.random.default_rng(seed)
    pools = {subject: [subject, *words.split()] for subject, words in SUBJECTS.items()}
    everything = sorted({word for pool in pools.values() for word in pool})
    texts = []
    for number in range(count):
        subject = list(pools)[number % len(pools)]
        own = rng.choice(pools[subject], 14)
        other = rng.choice(everything, 4)
        markup = HOSTILE if number % 7 == 0 else ""
        texts.append(f"{markup} {' '.join([*own, *other])}.")
    return texts


@cache
def small_imager():
    texts = documents()
    titles = [f"Page {number} <b>of the book</b>" for number in range(len(texts))]
    return TopicImager(rank=12, random_state=0).fit(texts, titles=titles)


@cache
def small_images():
    return small_imager().image_all(n_words=5)


@contextmanager
def running(application, **options):
    """Serve an application on this machine for a while, and say where."""
    import uvicorn

    config = uvicorn.Config(
        application, port=0, log_level="critical", timeout_graceful_shutdown=1, **options
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
