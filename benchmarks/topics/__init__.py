"""Images of words: the paper's queries, coherence on held-out documents, and speed."""
