"""Short texts with subjects, for the command line to read."""

import numpy as np

SUBJECTS = {
    "sea": ["wave", "tide", "ship", "harbour", "salt", "coast"],
    "music": ["violin", "chord", "melody", "orchestra", "tempo", "song"],
    "kitchen": ["oven", "salt", "flour", "knife", "recipe", "bread"],
}


def posts(seed, subjects=SUBJECTS):
    """Short texts on a few subjects, with some words in common."""
    rng = np.random.default_rng(seed)
    shared = ["day", "people", "house", "story"]
    for number in range(90):
        name = list(subjects)[number % len(subjects)]
        words = [name, *rng.choice(subjects[name], 4), *rng.choice(shared, 2)]
        yield {"name": f"{name} {number}", "body": " ".join(rng.permutation(words)), "size": number}
