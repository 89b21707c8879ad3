"""A Cholesky factor that serves supports near the one it was made for.

For a support A let H = (G + diag(e))_AA. The factor of a base support is kept; a column that has
joined since borders it, and one that has left is held at zero by a multiplier:

    [ H_0  B ] [ x ]   [ f ]         B has a column of H for each one that joined,
    [ B'   C ] [ z ] = [ g ]         a unit vector (and a zero in C and g) for each that left

With H_0 = L L' and Y = L^-1 B this takes a system of the size of the change, C - Y'Y. A column
of Y costs one triangular solve; many at a time cost a fraction of a new factor.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from sketchlasso.kernels.faces import gather_lower
from sketchlasso.types import FloatArray, IntArray

# Changes that a factor of size a bears before a new one is cheaper: a / SHARE, at least FEWEST.
SHARE = 6
FEWEST_CHANGES = 32


class SupportFactor:
    """Solves with (G + diag(e))_AA for one support A after another.

    `factorisations` counts the Cholesky factors computed so far.
    """

    def __init__(self) -> None:
        self.factorisations = 0
        self._base = np.empty(0, dtype=np.intp)
        self._changes = np.empty(0, dtype=np.intp)
        self.G, self.extra = np.empty((0, 0)), np.empty(0)

    def renew(self, G: FloatArray, extra: FloatArray) -> None:
        """Take another matrix; the factor is kept where G has only grown and e is the same.

        The leading (p, p) part of G (c, c) is the Gram matrix. `extra` (p,) is e; with e > 0 any
        columns may be chosen.
        """
        known = min(len(self.extra), len(extra))
        if len(self.extra) > len(extra) or (self.extra[:known] != extra[:known]).any():
            self._base = self._changes = self._base[:0]
        self.G, self.extra = G, extra
        self._index()

    def _index(self) -> None:
        """Note where each column stands in the base and among the changes."""
        self._place, self._where = np.full((2, len(self.extra)), -1, dtype=np.intp)
        self._place[self._base] = np.arange(len(self._base))
        self._where[self._changes] = np.arange(len(self._changes))

    def solve(self, support: IntArray, right: FloatArray) -> FloatArray:
        """Solution (a,) for a sorted support (a,) and a right-hand side (a,)."""
        if len(support) == 0:
            return np.empty(0)
        return self._solve(support, right[:, None])[:, 0]

    def _solve(self, support: IntArray, right: FloatArray) -> FloatArray:
        base = self._base
        stays = np.zeros(len(self.extra), dtype=bool)
        stays[support] = True
        joined = support[self._place[support] < 0]
        left = base[~stays[base]]
        changed = np.concatenate([joined, left])
        fresh = changed[self._where[changed] < 0]
        most = max(FEWEST_CHANGES, len(base) // SHARE)
        if len(base) == 0 or len(self._changes) + len(fresh) > most:
            self._factorise(support)
            return self._finish(self._start(right))
        if len(fresh):
            self._border(fresh)
        full = np.zeros((len(base), right.shape[1]))
        inside = self._place[support] >= 0
        full[self._place[support[inside]]] = right[inside]
        begun = self._start(full)
        if len(changed) == 0:
            found = self._finish(begun)
            return found[self._place[support]]
        which = self._where[changed]
        g = np.zeros((len(changed), right.shape[1]))
        g[: len(joined)] = right[~inside]
        g -= (self._Y.T @ begun)[which]
        inner = self._inner[np.ix_(which, which)]
        z, info = linalg.lapack.dgesv(inner, g, overwrite_a=1, overwrite_b=1)[2:]
        if info != 0 or not np.isfinite(z).all():
            self._factorise(support)
            return self._finish(self._start(right))
        # Products with all of Y are faster than a copy of the columns in use.
        spread = np.zeros((len(self._changes), right.shape[1]))
        spread[which] = z
        x = self._finish(begun - self._Y @ spread)
        out = np.empty_like(right)
        out[inside] = x[self._place[support[inside]]]
        out[~inside] = z[: len(joined)]
        return out

    def _factorise(self, support: IntArray) -> None:
        lower = np.empty((len(support), len(support)))
        gather_lower(self.G, support, self.extra, lower)
        # The transpose of a C-ordered lower triangle is the upper one that LAPACK wants.
        upper, info = linalg.lapack.dpotrf(lower.T, lower=0, overwrite_a=1, clean=0)
        if info != 0:
            raise linalg.LinAlgError(f"no Cholesky factor of the support ({info})")
        self.factorisations += 1
        self._upper: Any = upper
        self._base, self._changes = support.copy(), support[:0].copy()
        self._Y = np.empty((len(support), 0), order="F")
        self._inner = np.empty((0, 0))
        self._index()

    def _start(self, right: FloatArray) -> FloatArray:
        return np.asarray(linalg.lapack.dtrtrs(self._upper, right, lower=0, trans=1)[0])

    def _finish(self, begun: FloatArray) -> FloatArray:
        return np.asarray(linalg.lapack.dtrtrs(self._upper, begun, lower=0, trans=0)[0])

    def _border(self, fresh: IntArray) -> None:
        """Append the columns of Y, and the lines of C - Y'Y, of columns that have changed."""
        base, old = self._base, self._changes
        B = np.zeros((len(fresh), len(base)))
        joins = self._place[fresh] < 0
        B[joins] = self.G[np.ix_(fresh[joins], base)]
        B[~joins, self._place[fresh[~joins]]] = 1.0
        new = self._start(B.T)
        every = np.concatenate([old, fresh])
        self._Y = np.asfortranarray(np.concatenate([self._Y, new], axis=1))
        C = self.G[np.ix_(fresh, every)]
        C[:, self._place[every] >= 0] = 0.0
        C[~joins] = 0.0
        own = np.flatnonzero(joins)
        C[own, len(old) + own] += self.extra[fresh[own]]
        lower = C - new.T @ self._Y
        grown = np.empty((len(every), len(every)))
        grown[: len(old), : len(old)] = self._inner
        grown[len(old) :] = lower
        grown[: len(old), len(old) :] = lower[:, : len(old)].T
        self._inner = grown
        self._changes = every
        self._where[fresh] = np.arange(len(old), len(every))
