"""Topics: corpora of documents, images of words, graphs of images."""

from sketchlasso.topics.corpus import Corpus
from sketchlasso.topics.embedded import embedded_corpus
from sketchlasso.topics.graph import WordGraph, word_graph
from sketchlasso.topics.matrices import corpus_from_matrix
from sketchlasso.topics.reading import read_corpus

__all__ = [
    "Corpus",
    "WordGraph",
    "corpus_from_matrix",
    "embedded_corpus",
    "read_corpus",
    "word_graph",
]
