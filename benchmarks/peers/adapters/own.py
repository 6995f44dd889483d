"""Our own learners."""

from functools import partial


def sgbn(X):
    """Order search, as a new user gets it."""
    from sgbn.learn.sgbn import SGBN

    return SGBN().fit(X).coef_ != 0


def sgbn_class(X):
    """Order search, its equivalence class: directed by the same rule as the classes of peers."""
    from sgbn.learn.sgbn import SGBN

    return SGBN().fit(X).cpdag_


def sgbn_trees(X):
    """Order search with kicks and without score tables: the default before there were any."""
    from sgbn.learn.sgbn import SGBN

    return SGBN(n_starts=2).fit(X).coef_ != 0


def sgbn_fast(X):
    """Order search without kicks: the fast setting."""
    from sgbn.learn.sgbn import SGBN

    return SGBN(effort="fast").fit(X).coef_ != 0


def orsgbn(X, alpha=0.1):
    """OR-SGBN, the paper's, at the default alpha."""
    from sgbn.paper.or_sgbn import ORSGBN

    return ORSGBN(alpha).fit(X).coef_ != 0


# Few samples need a stronger penalty: the race shows several, so that the best one is among them.
orsgbn_02, orsgbn_03, orsgbn_04 = (partial(orsgbn, alpha=alpha) for alpha in (0.2, 0.3, 0.4))
