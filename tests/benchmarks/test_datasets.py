"""Data sets of the benchmarks, read from the folder of data."""

import numpy as np
import pytest
from benchmarks.datasets import LAYOUTS, MissingDataError, table_of

SHAPES = {
    "20news_bydate": (11269, 55911), "rcv1": (23749, 47236), "imdb_all": (100000, 36408),
    "nips_uci": (1500, 7605), "gisette_like": (6000, 5000), "riboflavin": (71, 4088),
    "california_housing": (20433, 8), "diabetes": (442, 10),
}  # fmt: skip
# Non-zeros that the publishers state.
PUBLISHED = {"news20": 1272569, "kos": 353160}


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_set_of_the_folder_is_read(name):
    try:
        table = table_of(name)
    except MissingDataError as missing:
        pytest.skip(str(missing))
    assert table.shape == SHAPES.get(name, table.shape)
    assert table.X.dtype in (np.float32, np.float64)
    assert table.feature_names is None or len(table.feature_names) == table.shape[1]
    if name in PUBLISHED:
        assert table.X.nnz == PUBLISHED[name]


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(MissingDataError, match="not a data set here; choose from news20, kos"):
        table_of("imbd")
