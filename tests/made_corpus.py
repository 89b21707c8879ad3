"""A small corpus with topics that are known: words of one topic come along with each other."""

import numpy as np

from sketchlasso.topics import Corpus

TOPICS = {
    "sea": ["wave", "boat", "sail", "tide", "harbour", "storm", "island"],
    "music": ["violin", "song", "choir", "piano", "melody", "rhythm", "opera"],
    "garden": ["rose", "soil", "seed", "spade", "tulip", "compost", "hedge"],
    "court": ["judge", "lawyer", "verdict", "trial", "jury", "appeal", "witness"],
}
NOISE = [f"filler{letter}" for letter in "abcdefghijklmnop"]


def topical_corpus(documents=240, seed=0):
    """Each document draws most of its words from one topic, the others from everywhere."""
    rng = np.random.default_rng(seed)
    words = [word for name, others in TOPICS.items() for word in (name, *others)] + NOISE
    counts = np.zeros((documents, len(words)))
    size = 1 + len(next(iter(TOPICS.values())))
    for row in range(documents):
        topic = rng.integers(len(TOPICS))
        own = rng.integers(topic * size, (topic + 1) * size, size=12)
        other = rng.integers(0, len(words), size=8)
        np.add.at(counts[row], np.concatenate([own, other]), 1.0)
    titles = [f"report {row}" for row in range(documents)]
    texts = [" ".join(words[i] for i in np.flatnonzero(row)) for row in counts]
    return Corpus(counts, words, titles, texts, "made")
