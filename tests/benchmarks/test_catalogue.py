"""Every data set of the benchmarks, read from the folder of data."""

import numpy as np
import pytest
from benchmarks.catalogue import LAYOUTS, MissingDataError, table_of

SHAPES = {
    "20news_bydate": (11269, 55911), "20news_bydate_test": (7505, 55911), "rcv1": (23749, 47236),
    "rcv1_topics": (27613, 47236), "tmc2007_500": (28596, 500), "bibtex": (7395, 1836),
    "yahoo_education": (12030, 27534), "yahoo_reference": (8027, 39679), "imdb": (25000, 36408),
    "imdb_test": (25000, 36408), "imdb_all": (100000, 36408), "nips_uci": (1500, 7605),
    "nips_1987_2003": (2483, 14036), "nytimes_headlines": (3104, 3529),
    "gisette_sample168": (168, 5000), "gisette_like": (6000, 5000),
    "gisette_like_valid": (1000, 5000), "mnist": (60000, 784), "mnist_test": (10000, 784),
    "arcene": (200, 10000), "madelon": (2600, 500), "riboflavin": (71, 4088), "alon": (62, 2000),
    "golub": (72, 7129), "gordon": (181, 12533), "khan": (63, 2308), "shipp": (77, 7129),
    "pomeroy": (60, 7128), "su": (102, 5565), "gravier": (168, 2905), "christensen": (217, 1413),
    "borovecki": (31, 22283), "subramanian": (50, 10100), "west": (49, 7129),
    "gasoline_nir": (60, 401), "blogfeedback": (52397, 280), "california_housing": (20433, 8),
    "diabetes": (442, 10), "prostate": (97, 8), "boston": (506, 13), "news20": (15935, 62061),
    "kos": (3430, 6906),
}  # fmt: skip


# Non-zeros that the publishers state.
PUBLISHED = {"news20": 1272569, "kos": 353160}


@pytest.mark.parametrize("name", SHAPES)
def test_every_set_of_the_folder_is_read(name):
    try:
        table = table_of(name)
    except MissingDataError as missing:
        pytest.skip(str(missing))
    assert table.shape == SHAPES[name]
    assert table.X.dtype in (np.float32, np.float64)
    if name in PUBLISHED:
        assert table.X.nnz == PUBLISHED[name]


def test_every_layout_is_tested():
    assert set(SHAPES) == set(LAYOUTS)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(MissingDataError, match="not a data set here; choose from news20, kos"):
        table_of("imbd")
