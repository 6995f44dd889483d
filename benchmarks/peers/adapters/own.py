"""Our own learners."""


def sgbn(X):
    """Order search, as a new user gets it."""
    from sgbn import SGBN

    return SGBN().fit(X).coef_ != 0


def sgbn_fast(X):
    """Order search without kicks: the fast setting."""
    from sgbn import SGBN

    return SGBN(n_kicks=0).fit(X).coef_ != 0


def orsgbn(X):
    """OR-SGBN, the paper's, at the default alpha."""
    from sgbn import ORSGBN

    return ORSGBN().fit(X).coef_ != 0
