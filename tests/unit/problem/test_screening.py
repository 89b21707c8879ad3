"""Problems without the features that the static rule removes."""

import numpy as np
from scipy import sparse

from sketchlasso.problem import Batch, certify_batch
from sketchlasso.problem.screening import Restriction, norm_rule, row_norms
from sketchlasso.solvers import solve


def uneven_batch(rng, excluded=False):
    """Three problems over rows of very different lengths, some of them zero."""
    n, k = 60, 6
    P = rng.standard_normal((n, k)) * 10.0 ** rng.uniform(-3, 0, n)[:, None]
    P[::7] = 0.0
    roots = np.eye(k) + 0.1 * rng.standard_normal((3, k, k))
    barred = sparse.csr_array(rng.random((3, n)) < 0.1) if excluded else None
    return Batch.build(
        P,
        rng.standard_normal((3, k)),
        0.3,
        alpha=[0.2, 0.1, 0.05],
        radius=0.02,
        roots=roots,
        penalty_factor=rng.uniform(0.5, 2.0, n),
        excluded=barred,
    )


def test_the_largest_bound_is_over_all_instances():
    batch = uneven_batch(np.random.default_rng(0))
    norms = row_norms(batch)
    assert np.array_equal(norms.largest(), np.max([norms.of(b) for b in range(3)], axis=0))


def test_solutions_on_the_features_left_hold_for_all():
    for seed in range(5):
        batch = uneven_batch(np.random.default_rng(seed), excluded=seed % 2 == 1)
        norms = row_norms(batch)
        removed = np.all([norm_rule(batch, norms, b, 0.0) for b in range(3)], axis=0)
        assert 0 < removed.sum() < len(removed)
        only = Restriction.of(batch.P, np.flatnonzero(~removed))
        found = solve(only.apply(batch))
        coef = only.widen(found.coef)
        proof = certify_batch(batch, coef, found.dual_point)
        assert (proof.relative_gap <= 1e-6).all()
        assert np.abs(only.narrow(coef).toarray() - found.coef.toarray()).max() == 0
        assert coef.shape == (3, 60)


def test_entries_of_other_features_are_dropped():
    rows = sparse.csr_array(np.array([[1.0, 0.0, 2.0, 3.0], [0.0, 4.0, 0.0, 0.0]]))
    only = Restriction.of(np.ones((4, 2)), np.array([0, 3]))
    assert np.array_equal(only.narrow(rows).toarray(), [[1.0, 3.0], [0.0, 0.0]])
    back = only.widen(only.narrow(rows)).toarray()
    assert np.array_equal(back, [[1.0, 0.0, 0.0, 3.0], [0.0, 0.0, 0.0, 0.0]])


def test_norms_under_a_nearly_orthonormal_root_are_bounded_without_a_product():
    rng = np.random.default_rng(1)
    P = rng.standard_normal((40, 5))
    turn = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    for stretch in (1e-3, 1e-1):
        root = turn @ np.diag(1.0 + stretch * rng.uniform(-1, 1, 5))
        batch = Batch.build(P, rng.standard_normal((1, 5)), 0.3, alpha=0.1, roots=root[None])
        norms, exact = row_norms(batch), np.linalg.norm(P @ root, axis=1)
        assert np.all(norms.of(0) >= exact * (1 - 1e-14))
        assert np.all(norms.of(0) <= exact * 1.01)
        assert np.array_equal(norms.norms[0], np.linalg.norm(P, axis=1)) == (stretch == 1e-3)


def test_rows_are_not_copied_where_most_features_stay():
    P = np.ones((10, 2))
    assert Restriction.of(P, np.arange(9)).rows is P
    few = Restriction.of(P, np.arange(8))
    assert few.rows.shape == (8, 2)
    assert len(few.features) == 8
