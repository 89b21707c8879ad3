"""One file per experiment."""
