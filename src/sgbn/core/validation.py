"""Checks of data and parameters. Errors and warnings name the column and the remedy.

A `Constraint` says which values a parameter may have, and raises the error for any other value. An
estimator declares a table ``_parameters`` (name -> constraint) and calls `check_parameters`. A
subclass declares only the parameters that it adds. Other functions call `Constraint.check` for each
argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from math import inf, isfinite
from numbers import Integral, Real
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import get_lapack_funcs
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from sgbn.core.graph import check_distinct
from sgbn.core.problems import LISTED, DataWarning, InputError, Problem, give
from sgbn.core.types import Array, Indices, Mask

if TYPE_CHECKING:
    from sgbn.core.moments import Moments


Label = str | float | np.generic  # label of a class or group

# Share of a column's variance that the other columns do not explain; a smaller one is round-off.
COLLINEAR_EPS = 1e-10
MAX_SCALE_RATIO = 1e6  # ratio of two standard deviations; a larger one suggests mixed-up units
FEW_SAMPLES = 10  # a regression on fewer samples says little
MANY_PER_SAMPLE = 3  # columns per sample; with more, the strongest correlations are chance
LARGEST = 1e100  # largest absolute value of a cell, so that sums of squares stay finite
# Names of groups become names of files, which have at most 255 bytes with all that is added.
# Figures make room for the longest name: with a name of 10,000 characters they take all memory.
MAX_NAME = 100
NO_REGIONS = "sgbn_no_regions"  # key of `DataFrame.attrs`: columns that are covariates or the site


def check_data(estimator: BaseEstimator, X: Any, reset: bool = True) -> Array:
    """Return the rows as a C-ordered, writable array of finite floats.

    Parameters
    ----------
    estimator : BaseEstimator
        The estimator that is given the rows.
    X : array-like or DataFrame of shape (n, m)
        Table with one row per sample and one column per variable.
    reset : bool
        True sets `n_features_in_` and `feature_names_in_` of the estimator. False checks that X
        agrees with them.
    """
    _check_table(X)
    try:
        array = validate_data(
            estimator,
            X,
            reset=reset,
            dtype=np.float64,
            order="C",
            force_writeable=True,
            ensure_all_finite=False,  # checked below, with the name of the column
            # A variance needs two rows; a prediction needs only one.
            ensure_min_samples=2 if reset else 1,
            ensure_min_features=2 if reset else 1,
        )
    except ValueError as error:
        # numpy writes these words. Other errors pass, because scikit-learn's checks read them.
        if "could not convert string" in str(error):
            raise _not_numeric(X) from error
        raise
    check_finite(array, column_names(estimator))
    return array


def check_name_lengths(names: Iterable[str], what: str) -> None:
    """Raise InputError if a name has more than `MAX_NAME` characters; `what` says whose it is."""
    for place, name in enumerate(names, 1):
        if len(name) > MAX_NAME:
            # The names may be those of subjects, which only some messages may show.
            raise InputError("names.long", what=what, place=place, n=len(name), most=MAX_NAME).says(
                "the {what:s} in place {place} has {n} characters", "Give at most {most}."
            )


def check_mask(mask: Any, n: int, argument: str) -> Mask:
    """Return an array of True and False; raise InputError unless it has one for each of n rows."""
    marked = np.asarray(mask)
    if marked.shape != (n,) or marked.dtype != bool:
        raise InputError("rows.mask", argument=argument, n=n).says(
            "{argument} is not a list of {n:value} True or False", "Give one for each row."
        )
    return marked


def check_same_names(names: Sequence[str] | None, columns: Sequence[str]) -> None:
    """Raise InputError if names are given that are not those of the columns."""
    if names is not None and list(names) != list(columns):
        raise InputError("names.differ").says(
            "names are not those of the columns", "Leave names out."
        )


def check_values(X: Any) -> tuple[Array, list[str]]:
    """Return rows as finite floats and the column names, for functions without an estimator."""
    _check_table(X)
    names = table_names(X) if hasattr(X, "columns") else None
    try:
        values = np.array(X, dtype=np.float64, order="C")
    except ValueError as error:
        raise _not_numeric(X) from error
    if values.ndim != 2 or min(values.shape) < 2:
        raise InputError("table.shape", shape=values.shape).says(
            "X has shape ({shape:s})", "Give a table with at least two rows and two columns."
        )
    names = names or [f"x{k}" for k in range(values.shape[1])]
    check_finite(values, names)
    return values, names


def column_names(estimator: Any, X: Any = None) -> list[str]:
    """Return the column names of X if it is a table.

    Otherwise return the names of the columns that the estimator was fitted to, or x0, x1, ... if
    these columns had no names.
    """
    if hasattr(X, "columns"):
        return table_names(X)
    if hasattr(estimator, "feature_names_in_"):
        return [str(name) for name in estimator.feature_names_in_]
    return [f"x{k}" for k in range(estimator.n_features_in_)]


def table_names(X: Any) -> list[str]:
    """Return the column names of a table as text; levels of a MultiIndex are joined by "/"."""
    return ["/".join(map(str, c)) if isinstance(c, tuple) else str(c) for c in X.columns]


def _check_table(X: Any) -> None:
    """Raise InputError if a column of a table is not numeric; the error names the column."""
    if isinstance(X, str | PathLike):
        raise InputError("table.path", file=X).says(
            "X is {file}, but a table of numbers is needed", "Read a file with sgbn.read_table."
        )
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return
    names = list(X.columns)
    _check_only_regions(X, names)
    check_distinct(names)
    text = [n for n, dtype in zip(names, X.dtypes, strict=True) if not _is_numeric(dtype)]
    if text:
        raise InputError("columns.text", columns=text).says(
            "columns that are not numeric: {columns}", "Drop them, or convert them to numbers."
        )


def _check_only_regions(X: Any, names: list[Any]) -> None:
    """Raise InputError if the table of a cohort still has columns of covariates or the site."""
    marked = getattr(X, "attrs", {}).get(NO_REGIONS, ())
    wrong = [name for name in names if name in marked]
    if wrong:
        raise InputError("columns.covariates", columns=wrong).says(
            "columns that are covariates or the site, not regions: {columns}",
            "Give X[list(cohort.regions)], or call sgbn.group_network or sgbn.make_analysis.",
        )


def _not_numeric(X: Any) -> InputError:
    """Return the error that names the first cell that is not a number."""
    place, cell = (), "text"
    for place, cell in np.ndenumerate(np.asarray(X, dtype=object)):  # noqa: B007
        try:
            float(cell)
        except (TypeError, ValueError):
            break
    return InputError("cells.text", place=place, cell=cell).says(
        "X holds {cell} at [{place:s}], which is not a number", "Drop or convert this column."
    )


def _is_numeric(dtype: Any) -> bool:
    # Types of tables that have no kind are checked later, by the conversion to numbers.
    return getattr(dtype, "kind", "f") in "fiub"


def check_finite(X: Array, names: Sequence[str]) -> None:
    """Raise InputError if a cell is missing or infinite."""
    bad = np.argwhere(~np.isfinite(X))
    if len(bad):
        row, column = bad[0]
        # scikit-learn's estimator checks look for the words "NaN" and "inf" in the message.
        raise InputError("cells.gaps", n=len(bad), row=row, column=names[column]).says(
            "Input X contains NaN or infinity: column {column}, row {row} (counted from 0)",
            "Leave out this row or column ({n:such cell}), or impute it inside a Pipeline.",
        )


FEW_VALUES, ROWS_TO_COUNT = 5, 20  # in fewer rows, measurements may agree by chance


def few_values(values: Array) -> Mask:
    """Mark columns with two to five different values, such as a score, or labels as numbers."""
    few = np.zeros(values.shape[1], bool)
    if len(values) < ROWS_TO_COUNT:
        return few
    for k, column in enumerate(values.T):
        seen = column[np.isfinite(column)]
        # The first rows tell most measurements apart, so that few columns are sorted as a whole.
        if len(np.unique(seen[:ROWS_TO_COUNT])) <= FEW_VALUES:
            few[k] = 2 <= len(np.unique(seen)) <= FEW_VALUES
    return few


def warn_few_values(values: Array, names: Sequence[str]) -> None:
    """Warn of columns with few different values, which a network takes as measurements."""
    columns = [name for name, few in zip(names, few_values(values), strict=True) if few]
    if columns:
        Problem("cells.few-values", columns=columns).warn(
            "columns with two to five different values are treated as continuous: {columns}",
            "Give them as covariates or groups, or leave them out.",
        )


def warn_about_moments(moments: Moments, names: Sequence[str]) -> None:
    """Warn of few samples, of duplicated or collinear columns, and of very different scales."""
    warn_few_samples(moments.n, moments.m)
    small, large = int(np.argmin(moments.sd)), int(np.argmax(moments.sd))
    if moments.sd[large] > MAX_SCALE_RATIO * moments.sd[small]:
        ratio = moments.sd[large] / moments.sd[small]
        Problem("columns.scale", large=names[large], small=names[small], ratio=ratio).warn(
            "the standard deviation of {large} is {ratio:.1e} times that of {small}",
            "Check their units, and compare only standardised weights (coef_std_).",
        )
    warn_collinear(moments, names)


def warn_few_samples(n: int, m: int) -> None:
    """Warn if n samples are too few for a network of m columns."""
    needed = max(FEW_SAMPLES, int(np.ceil(m / MANY_PER_SAMPLE)))
    if n < needed:
        Problem("rows.few-for-columns", n=n, m=m, needed=needed).warn(
            "{n:sample} of {m:column} are too few for a network",
            "Use fewer columns, or at least {needed:sample}.",
        )


def copied_columns(moments: Moments) -> list[tuple[int, int]]:
    """Return the pairs of the user's columns that are the same up to shift and scale."""
    R = moments.correlation
    # The upper triangle has each pair once.
    twins = np.argwhere(np.triu(np.abs(R) > 1.0 - COLLINEAR_EPS, 1))
    return [(int(moments.columns[i]), int(moments.columns[j])) for i, j in twins]


def combined_columns(moments: Moments) -> list[int]:
    """Return the user's columns that are linear combinations of the columns not returned.

    With too few samples, every column is such a combination. In this case the list is empty.
    """
    if moments.n <= moments.m + 1:
        return []
    R = moments.correlation
    # Pivoting puts columns that depend on the others last, after the first `rank` columns.
    (pivoted_cholesky,) = get_lapack_funcs(("pstrf",), (R,))
    _, pivots, rank, _ = pivoted_cholesky(R, tol=COLLINEAR_EPS)
    # LAPACK counts from 1.
    return sorted(int(moments.columns[p - 1]) for p in pivots[rank:])


def copies(pairs: Sequence[Sequence[int]], names: Sequence[str]) -> Problem:
    """Return the problem that pairs of columns are copies of each other."""
    first, second = (names[k] for k in pairs[0])
    return Problem("columns.copies", first=first, second=second, n=len(pairs)).says(
        "columns {first} and {second} are copies ({n:such pair})", "Drop one of each pair."
    )


def collinear_columns(moments: Moments, names: Sequence[str]) -> Problem | None:
    """Return the problem that columns are copies or linear combinations of others, or None."""
    twins = copied_columns(moments)
    if twins:
        return copies(twins, names)
    # Only without copies, because a copy is also a linear combination and would be named twice.
    extra = sorted(names[k] for k in combined_columns(moments))
    if extra:
        return Problem("columns.collinear", columns=extra).says(
            "columns that the others determine: {columns}",
            "Drop them, or their weights mean little.",
        )
    return None


def warn_collinear(moments: Moments, names: Sequence[str]) -> None:
    """Warn of columns that are copies or linear combinations of others."""
    problem = collinear_columns(moments, names)
    if problem:
        give(DataWarning(problem))


def warn_about_ties(moments: Moments, B: Array, root_price: Array, names: Sequence[str]) -> None:
    """Warn of correlated pairs in which neither variable has any edge.

    The correlation of such a pair exceeds the price of an edge. But both directions fit equally
    well, and an order cannot decide between them.

    Parameters
    ----------
    moments : Moments
        Moments of the data that the network was learned from.
    B : ndarray of shape (m, p)
        Learned weights, one row per child, in canonical order. The first m of the p columns belong
        to the variables.
    root_price : ndarray of shape (m,)
        The price of the edge i - j is ``root_price[i] * root_price[j]``.
    names : sequence of str
        Names of the user's columns.
    """
    joined = B[:, : moments.m] != 0
    alone = np.flatnonzero(~joined.any(axis=0) & ~joined.any(axis=1))
    R = moments.R[np.ix_(alone, alone)]
    prices = np.outer(root_price[alone], root_price[alone])
    tied = np.argwhere(np.triu(np.abs(R) > prices * (1 + COLLINEAR_EPS), 1))
    if tied.size:
        named = [names[moments.columns[k]] for k in alone]
        pairs = [f"{named[i]!r} - {named[j]!r} ({R[i, j]:+.2f})" for i, j in tied[:LISTED]]
        Problem("edges.tied", n=len(tied), pairs=pairs).warn(
            "{n:correlated pair} without an edge, as both directions fit equally well: {pairs:s}",
            "Read each as a pair without a direction.",
        )


def check_classification(
    estimator: BaseEstimator, X: Any, y: Any
) -> tuple[Array, NDArray[Any], NDArray[Any]]:
    """Return the rows as `check_data` does, the class of each row, and the sorted classes."""
    values = check_data(estimator, X)
    classes, codes = two_classes(y, len(values))
    return values, classes[codes], classes


def two_classes(y: Any, n: int) -> tuple[NDArray[Any], Indices]:
    """Return the classes of n rows and the class number of each row; refuse a single class."""
    classes, codes = numbered(read_labels(y, n))
    if len(classes) < 2:
        raise InputError("classes.one", label=classes[0]).says(
            "y has one class, {label}, but two are needed", "Add rows of another class."
        )
    return classes, codes


def numbered(labels: ArrayLike) -> tuple[NDArray[Any], Indices]:
    """Return the sorted names of the labels, and the place of each label among them."""
    return np.unique(labels, return_inverse=True)


def check_count(values: NDArray[Any], n: int, name: str) -> None:
    """Raise InputError if an argument or covariate does not have one value per row."""
    if values.shape != (n,):
        raise InputError("labels.count", name=name, n=n).says(
            "{name} does not have {n:value}", "Give one value per row."
        )


def read_labels(y: Any, n: int) -> NDArray[Any]:
    """Return the class of each of n rows; raise an error if a label is missing or not a class."""
    if y is None:
        raise InputError("labels.none").says(
            "requires y to be passed, but the target y is None", "Give the label of each row."
        )
    labels = column_or_1d(y, warn=True)
    check_consistent_length(labels, np.empty(n))
    missing = [row for row, label in enumerate(labels) if label is None or label != label]  # NaN
    if missing:
        raise InputError("labels.missing", argument="y", row=missing[0]).says(
            "{argument} is missing in row {row} (counted from 0)", "Leave this row out."
        )
    check_classification_targets(labels)
    return labels


def read_edge(edge: Any, argument: str, read: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Return the ends of an edge as `read` returns them; raise InputError unless they are two."""
    if isinstance(edge, str) or not isinstance(edge, Sequence | np.ndarray) or len(edge) != 2:
        raise InputError("edges.pair", argument=argument, edge=repr(edge)).says(
            "{argument} holds {edge:s}", "Give pairs (source, target)."
        )
    source, target = map(read, edge)
    if source == target:
        raise InputError("edges.loop", argument=argument, edge=repr(edge)).says(
            "{argument} holds {edge:s}, an edge of a variable to itself", "Remove it."
        )
    return source, target


LARGEST_SEED = 2**32 - 1  # the largest seed that numpy's RandomState accepts


def is_number(value: object) -> TypeGuard[float]:
    """Return whether `value` is a real number; True and False do not count."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether `value` is an integer of Python or numpy; True and 3.0 do not count."""
    # In Python True is an Integral, so seed=True would mean 1.
    return isinstance(value, Integral) and not isinstance(value, bool)


class Constraint:
    """Values that a parameter may have. ``first | second`` allows the values of both.

    Parameters
    ----------
    words : iterable of str
        Descriptions of the allowed values. Messages list them after "give".
    allows : callable
        Function that returns whether a value is allowed.
    """

    def __init__(self, words: Iterable[str], allows: Callable[[Any], bool]) -> None:
        self.words, self.allows = tuple(words), allows

    def check(self, name: str, value: Any) -> Any:
        """Return the value, or raise InputError if it is not allowed.

        Parameters
        ----------
        name : str
            Name of the parameter in the message.
        value : object
            Value to check. A numpy scalar is returned as a Python number.
        """
        if not self.allows(value):
            # Cut at 100 characters, since the value may be a whole table.
            given, allowed = f"{value!r:.100}", " or ".join(self.words)
            raise InputError("argument", argument=name, value=given, allowed=allowed).says(
                "{argument} is {value:s}", "Give {allowed:s}."
            )
        return value.item() if isinstance(value, np.generic) else value

    def __or__(self, other: Constraint) -> Constraint:
        words = self.words + other.words
        return Constraint(words, lambda value: self.allows(value) or other.allows(value))


Parameters = Mapping[str, Constraint]  # table of a class: name of a parameter -> its constraint


class Whole(Constraint):
    """Whole numbers from `least` to `most`; at least one of the two limits must be given."""

    def __init__(self, least: float = -inf, most: float = inf) -> None:
        start = f" from {least}" if isfinite(least) else ""
        end = f" up to {most}" if isfinite(most) else " upwards"
        super().__init__(
            [f"a whole number{start}{end}"],
            lambda value: is_whole(value) and least <= value <= most,
        )


class Number(Constraint):
    """Finite numbers within limits. `least` and `most` are allowed, `above` and `below` are not."""

    def __init__(
        self, least: float = -inf, most: float = inf, *, above: float = -inf, below: float = inf
    ) -> None:
        start, end = "", ""
        if isfinite(max(least, above)):
            start = f" from {least:g}" if isfinite(least) else f" above {above:g}"
            end = " upwards" if isfinite(least) else ""
        if isfinite(min(most, below)):
            joint = " to" if isfinite(least) else " and" if start else ""
            end = f" up to {most:g}" if isfinite(most) else f"{joint} below {below:g}"

        def allows(value: Any) -> bool:
            finite = is_number(value) and isfinite(value)
            return finite and least <= value <= most and above < value < below

        super().__init__([f"a number{start}{end}"], allows)


class OneOf(Constraint):
    """One of several names."""

    def __init__(self, *choices: str) -> None:
        super().__init__(
            map(repr, choices), lambda value: isinstance(value, str) and value in choices
        )


class ListOf(Constraint):
    """Lists and arrays of one or more values. The constraint `each` must allow each value."""

    def __init__(self, each: Constraint) -> None:
        def allows(value: Any) -> bool:
            if isinstance(value, str | Iterator) or not isinstance(value, Iterable):
                return False  # an iterator would be empty when it is used after this check
            members = list(value)
            return bool(members) and all(map(each.allows, members))

        super().__init__([f"a list in which each value is {' or '.join(each.words)}"], allows)


def _can_split(value: Any) -> bool:
    """Return whether the value may be a splitter of scikit-learn, or an iterable of splits."""
    return not isinstance(value, str) and (hasattr(value, "split") or isinstance(value, Iterable))


ANYTHING = Constraint(["anything"], lambda _: True)  # the value is checked where it is used
ESTIMATOR = Constraint(
    ["an estimator, such as SGBN()"],
    lambda value: hasattr(value, "fit") and not isinstance(value, type),
)
NONE = Constraint(["None"], lambda value: value is None)
TRUTH = Constraint(["True or False"], lambda value: isinstance(value, bool | np.bool_))
POSITIVE = Number(above=0)
NOT_NEGATIVE = Number(least=0)
SHARE = Number(above=0, below=1)
UP_TO_ONE = Number(above=0, most=1)
PROBABILITY = Number(least=0, most=1)
FOLDS = Whole(2) | Constraint(["a splitter of scikit-learn"], _can_split)
# joblib reads -2 as "all processors except one", and so on. It refuses 0.
JOBS = NONE | Constraint(
    ["a number of processes from 1 upwards", "-1 for one per processor"],
    lambda value: is_whole(value) and value != 0,
)
# numpy's default_rng accepts seeds of any size, the older RandomState only up to 32 bits.
SEED = Whole(0)
RANDOM_STATE = (
    NONE
    | Whole(0, LARGEST_SEED)
    | Constraint(["a RandomState"], lambda value: isinstance(value, np.random.RandomState))
)


ALLOWED = "allowed"  # key of the metadata of a dataclass field


def allowed(default: Any, constraint: Constraint) -> Any:
    """Return the field of a parameter of an estimator that is a dataclass."""
    return field(default=default, metadata={ALLOWED: constraint})


def declared_parameters(kind: type) -> dict[str, Constraint]:
    """Return the constraint of each parameter of a class, also of parameters of base classes."""
    merged: dict[str, Constraint] = {}
    for base in reversed(kind.__mro__):
        merged |= vars(base).get("_parameters", {})
        parts = vars(base).get("__dataclass_fields__", {}).values()
        merged |= {part.name: part.metadata[ALLOWED] for part in parts if ALLOWED in part.metadata}
    return merged


def check_parameters(estimator: Any) -> None:
    """Raise InputError unless all parameters of an estimator have allowed values.

    The estimator may have a method ``_check_together``, which checks parameters against each other.
    """
    for name, constraint in declared_parameters(type(estimator)).items():
        constraint.check(name, getattr(estimator, name))
    # This comes last, when each value is known to have the right type.
    if hasattr(estimator, "_check_together"):
        estimator._check_together()
