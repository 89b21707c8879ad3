"""Topics: corpora of documents, images of words, graphs of images."""

from sketchlasso.topics.corpus import Corpus
from sketchlasso.topics.embedded import embedded_corpus
from sketchlasso.topics.finding import Topic, Topics, find_topics
from sketchlasso.topics.image import ComparedImages, DocumentMatch, TopicImage
from sketchlasso.topics.imager import TopicImager
from sketchlasso.topics.reading import corpus_from_matrix, read_corpus
from sketchlasso.topics.store import load_topics
from sketchlasso.topics.word_images import WordImages, load_images, word_graph

__all__ = [
    "ComparedImages",
    "Corpus",
    "DocumentMatch",
    "Topic",
    "TopicImage",
    "TopicImager",
    "Topics",
    "WordImages",
    "corpus_from_matrix",
    "embedded_corpus",
    "find_topics",
    "load_images",
    "load_topics",
    "read_corpus",
    "word_graph",
]
