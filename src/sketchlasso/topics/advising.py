"""What would help a weak image."""

from __future__ import annotations

from sketchlasso.topics.answering import AUTOMATIC, Question
from sketchlasso.topics.image import TopicImage

__all__ = ["advice"]

# A word in fewer documents has too few in either half to learn from.
RARE = 20
USUAL_WORDS = 10
FINER_RANK = 200


def advice(image: TopicImage, question: Question, documents: int, rank: int) -> str:
    """Return one sentence about a weak image, and nothing about others.

    Parameters
    ----------
    image : TopicImage
    question : Question
        How it was asked for.
    documents : int
        In how many documents the rarest word of the query is.
    rank : int
        Of the sketch.
    """
    if image.quality != "weak":
        return ""
    if documents < RARE:
        together = f", or ask for it together with {image.words[0]!r}" if image.words else ""
        return f"the word is in only {documents} documents: add documents{together}."
    if image.excluded:
        return "words were excluded: allow some of them again."
    if question.radius != AUTOMATIC or question.alpha is not None:
        return "radius or alpha were set: leave them to be chosen."
    if len(image.words) < USUAL_WORDS:
        return f"the image has {len(image.words)} words: ask for {USUAL_WORDS}."
    if rank < FINER_RANK:
        return f"the sketch has rank {rank}: a rank of {FINER_RANK} may show more."
    return "the word is used in too many ways here: ask for a more specific one."
