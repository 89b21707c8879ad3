"""Arrays in, arrays out: linear algebra that knows nothing of regression."""
