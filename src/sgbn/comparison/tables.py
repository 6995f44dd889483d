"""The results of a comparison as tables, for the report and for CSV files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sgbn.comparison.names import TRUE
from sgbn.comparison.steps.data import table_one
from sgbn.comparison.steps.residuals import residual_table
from sgbn.comparison.steps.sensitivity import sensitivity_table
from sgbn.comparison.steps.series_data import series_table, with_subjects_support, with_volumes
from sgbn.core.graph import kinds_of_change
from sgbn.core.types import Array
from sgbn.inference.difference_tables import Differences
from sgbn.inference.models import FACTORS
from sgbn.inference.regional import regional_differences
from sgbn.write.tables import edge_table, frame_of, stacked, to_frame

if TYPE_CHECKING:
    import pandas as pd

    from sgbn.comparison.result import Comparison


PRESENT = 0.01  # standardised weight; edges whose true weights differ by no more count as equal


class Tables(NamedTuple):
    """The tables of a comparison. A table is empty if its step was not done.

    Attributes
    ----------
    edges : DataFrame
        The edges of all groups, the strongest first. The columns are group, source, target, their
        lobes, the columns of `sgbn.edge_table`, `beside_factors` ("stays" or "goes" when the
        leading hidden factors are taken out), and the true weight if it is known. Time series also
        have `support_share`, the share of subjects whose own series support the edge. Their
        `survives` says whether the edge stays without the tenth of the subjects that support it
        most.
    models : DataFrame
        The held-out log-likelihood per variable of the models of each group. `difference` is the
        difference from the network, with its standard error. `factors` is the number of hidden
        factors, for the factor analysis only.
    differences : DataFrame
        The tested edges, the most different first, with lobes, confidence and the truth.
        ``weight_std_GROUP`` is ``weight_GROUP`` per standard deviation of the residuals of all
        groups, like `difference_std`. `low` and `high` are the ends of an interval of
        `difference_std` that covers ``1 - level``. It is for each edge by itself, given the order
        and the parents that were found. All intervals together cover less. `supported` is whether
        the network of any group has this edge with a supported direction. ``kind_GROUP`` says how
        the weight of a group differs from the weight of the reference; see `kinds_of_change`.
        Whether it differs at all is decided by p and q. The other columns are the columns of
        `Differences.edges`.
    table_one : DataFrame
        A description of the groups, with a test of each covariate; see `table_one`.
    series : DataFrame
        The quality of the time series of each subject; see `series_table`. It is empty if subjects
        have one row each.
    regional : DataFrame
        The differences of the means of each region, the surest first; see `regional_differences`.
        It is empty if there are families (blocks), and for time series, whose means say nothing.
    residuals : DataFrame
        Whether the residuals of each network are Gaussian, and whether its edges are straight
        lines; see `residual_table`. It is empty for time series.
    sensitivity : DataFrame
        The pairs that differ, and whether they differ with other choices too; see
        `sensitivity_table`.
    replication : DataFrame
        The edges that the discovery found, with their tests in the confirmation.
    named : DataFrame
        The edges that were named before the data were seen, as in `Differences.named`. The tables
        `named`, `among` and `pairwise` have `low` and `high` like `differences`.
    among : DataFrame
        The edges between regions that were named before the data were seen, the surest first.
    pairwise : DataFrame
        The closed tests of each pair of more than two groups. The columns `group` and `other` name
        the pair.
    hubs, lobes : DataFrame
        The changes of in- and out-strength of every region, and the changes from lobe to lobe, the
        surest first.
    components : DataFrame
        The edges of connected sets of changed edges, with the sign, strength and p of their set.
    accuracy : DataFrame
        The scores of all classifiers; see `Accuracy.table`.
    refinements : DataFrame
        The changes of the weights by the refinements.
    subjects : DataFrame
        The subjects, with their predicted group, its probability, the reasons and their deviation.
        Probabilities are means over the repeats, by models that have not seen the subject.
        `because` has the largest parts of the log-likelihood ratio of the likeliest group over the
        second likeliest group.
    """

    edges: pd.DataFrame
    models: pd.DataFrame
    differences: pd.DataFrame
    table_one: pd.DataFrame
    series: pd.DataFrame
    regional: pd.DataFrame
    residuals: pd.DataFrame
    sensitivity: pd.DataFrame
    replication: pd.DataFrame
    named: pd.DataFrame
    among: pd.DataFrame
    pairwise: pd.DataFrame
    hubs: pd.DataFrame
    lobes: pd.DataFrame
    components: pd.DataFrame
    accuracy: pd.DataFrame
    refinements: pd.DataFrame
    subjects: pd.DataFrame

    def __repr__(self) -> str:
        done = {name: table for name, table in self._asdict().items() if table.shape[1]}
        sizes = [f"{name} {len(table)} x {table.shape[1]}" for name, table in done.items()]
        return f"Tables({', '.join(sizes)})"


def make_tables(comparison: Comparison) -> Tables:
    """Make all tables of a comparison. `Comparison.tables` keeps them."""
    made = {
        "edges": _edges(comparison),
        "models": _models(comparison),
        "sensitivity": sensitivity_table(comparison),
        "refinements": to_frame(comparison.refinements, "method"),
        "subjects": _subjects(comparison),
    }
    described, level = comparison.cohort, comparison.settings.level
    if comparison.of_series:
        # Means of series say nothing, so they have no table.
        made["series"] = series_table(comparison)
        described = with_volumes(comparison, made["series"])
    else:
        made["residuals"] = residual_table(comparison)
        if described.block is None:  # the t tests treat subjects as independent
            tested = regional_differences(comparison.prepared, comparison.groups, level)
            made["regional"] = to_frame(tested)
    made["table_one"] = table_one(described, comparison.groups)
    if comparison.tests is not None:
        made |= _tests(comparison, comparison.tests)
    if comparison.replication is not None:
        made["replication"] = to_frame(comparison.replication.table)
    if comparison.accuracy is not None:
        made["accuracy"] = comparison.accuracy.table(level)
    for name in {"subjects", "series"} & set(made):
        made[name] = _as_given(comparison, made[name])
    # Empty tables instead of None, so that code that writes or shows tables needs no check.
    not_done = {name: frame_of() for name in Tables._fields if name not in made}
    return Tables(**made, **not_done)


def _tests(comparison: Comparison, tested: Differences) -> dict[str, pd.DataFrame]:
    """Make the tables of the tests."""
    level = comparison.settings.level
    made = {
        "differences": _with_interval(_differences(comparison, tested), level),
        "pairwise": _with_interval(to_frame(tested.pairwise, "group", "other"), level),
        "hubs": _surest_first(tested.hubs),
        "lobes": _surest_first(tested.lobes),
        "components": _components(tested),
    }
    if tested.named is not None:
        made["named"] = _with_interval(to_frame(tested.named), level)
    if tested.among is not None:
        table = _with_interval(to_frame(tested.among.edges), level)
        made["among"] = table.sort_values(["p_fwer", "q"], kind="stable", ignore_index=True)
    return made


def _with_interval(table: pd.DataFrame, level: float) -> pd.DataFrame:
    """Add an interval for the `difference_std` of each edge, not corrected for other edges."""
    if "standard_error" not in table:
        return table  # it is empty: pairs of more than five groups are not tested
    where = list(table.columns).index("standard_error") + 1
    # The interval is from the normal distribution, but p is from permutations. They may disagree.
    half = ndtri(1 - level / 2) * table["standard_error"]
    table.insert(where, "low", table["difference_std"] - half)
    table.insert(where + 1, "high", table["difference_std"] + half)
    return table


def _edges(comparison: Comparison) -> pd.DataFrame:
    tables = {}
    for group, learner in comparison.learners.items():
        confidence, arrows = comparison.confidence.get(group), comparison.supported[group]
        table = edge_table(learner, confidence=confidence, supported=arrows)
        _add_lobes(table, comparison)
        if comparison.of_series:
            table = with_subjects_support(table, learner)
        if group in comparison.beside_factors:
            _add_beside_factors(table, comparison.beside_factors[group])
        if comparison.truth:
            table["true_weight_std"] = _at(table, comparison, comparison.truth[group])
        tables[group] = table
    return stacked(tables, "group")


def _differences(comparison: Comparison, tested: Differences) -> pd.DataFrame:
    table = to_frame(tested.edges)
    scale = _per_sd(comparison, table)
    # The order of the columns is: weights per SD, kinds of change, and then the difference.
    where = list(table.columns).index("difference")
    for place, group in enumerate(comparison.groups):
        table.insert(where + place, f"weight_std_{group}", table[f"weight_{group}"] * scale)
    for place, group in enumerate(comparison.groups[1:], start=where + len(comparison.groups)):
        reference = table[f"weight_std_{comparison.reference}"]
        table.insert(
            place, f"kind_{group}", kinds_of_change(reference, table[f"weight_std_{group}"])
        )
    _add_lobes(table, comparison)
    table["supported"] = _at(table, comparison, np.any([*comparison.supported.values()], axis=0))
    for group, confidence in comparison.confidence.items():
        # Adjacency has no direction, because this group's network may not have the tested edge.
        table[f"adjacent_{group}"] = _at(table, comparison, confidence.adjacency_)
    if comparison.truth:
        true = [_at(table, comparison, comparison.truth[group]) for group in comparison.groups]
        for group, weights in zip(comparison.groups, true, strict=True):
            table[f"{TRUE}{group}"] = weights
        table["true_change"] = np.ptp(true, axis=0) > PRESENT  # between any two groups
    return table


def _models(comparison: Comparison) -> pd.DataFrame:
    models = comparison.models
    table = to_frame({group: compared.table for group, compared in models.items()}, "group")
    if models:
        n_factors = {group: float(compared.n_factors) for group, compared in models.items()}
        # Other models have no hidden factors. They get NaN, because 0 would look like a result.
        table["factors"] = table["group"].map(n_factors).where(table["model"] == FACTORS)
    return table


def _components(tested: Differences) -> pd.DataFrame:
    columns = ["component", "sign", "strength", "p_fwer", "error", "source", "target"]
    names = tested.regions
    rows = [
        (number, component.sign, component.strength, p, error, names[source], names[target])
        for number, (component, p, error) in enumerate(tested.components, start=1)
        for source, target in component.pairs.tolist()
    ]
    return frame_of(rows, columns)


def _subjects(comparison: Comparison) -> pd.DataFrame:
    cohort, accuracy, deviations = comparison.cohort, comparison.accuracy, comparison.deviations
    table = frame_of({"subject": cohort.ids, "group": cohort.group})
    if accuracy is not None:
        mean = next(iter(accuracy.probabilities.values())).mean(axis=0)  # ours, over the repeats
        table["predicted"] = np.array(accuracy.groups)[mean.argmax(axis=1)]
        for k, group in enumerate(accuracy.groups):
            table[f"probability_{group}"] = mean[:, k]
        pairs = np.array(accuracy.groups)[accuracy.explained].tolist()
        reasons = zip(accuracy.explanations, pairs, table["predicted"], strict=True)
        table["because"] = [_because(*reason) for reason in reasons]
    if deviations is not None:
        farthest = np.abs(deviations.regions).argmax(axis=1)  # `regions` are z values
        table["deviation_p"] = deviations.p_reference
        table["farthest_region"] = np.array(deviations.names, dtype=object)[farthest]
        table["farthest_z"] = deviations.regions[np.arange(len(table)), farthest]
    return table


def _as_given(comparison: Comparison, table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of subjects in the order of the data that the user gave."""
    place = {subject: row for row, subject in enumerate(comparison.given)}
    ordered = table.sort_values("subject", key=lambda ids: ids.map(place), kind="stable")
    return ordered.reset_index(drop=True)


def _surest_first(records: NDArray[Any]) -> pd.DataFrame:
    table = to_frame(records)
    # p values of permutations have ties. These are sorted by the size of z.
    surest = np.lexsort((-table["z"].abs(), table["p_fwer"]))
    return table.iloc[surest].reset_index(drop=True)


def _because(parts: NDArray[Any], pair: list[str], predicted: str) -> str:
    """Return the largest parts as a text. Positive parts favour the predicted group.

    The mean over repeats may predict another group than the repeat that was explained. If the
    predicted group is not in the pair that was explained, the text begins with the names of the
    pair.
    """
    of, against = pair
    sign = -1 if predicted == against else 1
    texts = [
        f"{target if not source else f'{source} – {target}'} {round(sign * value, 2) + 0.0:+.2f}"
        for source, target, value in parts.tolist()
        if value
    ]
    return ("" if predicted in pair else f"{of} over {against}: ") + "; ".join(texts)


def _add_lobes(table: pd.DataFrame, comparison: Comparison) -> None:
    lobe_of = dict(zip(comparison.cohort.regions, comparison.cohort.lobes, strict=True))
    for place, end in enumerate(("source", "target")):
        where = list(table.columns).index("target") + 1 + place
        table.insert(where, f"{end}_lobe", table[end].map(lobe_of))


def _add_beside_factors(table: pd.DataFrame, refitted: NDArray[Any]) -> None:
    # Edges are found by name, because the two tables have different orders.
    words = {
        (edge["source"], edge["target"]): "stays" if edge["stays"] else "goes" for edge in refitted
    }
    ends = zip(table["source"], table["target"], strict=True)
    table["beside_factors"] = [words.get(pair, "") for pair in ends]


def _per_sd(comparison: Comparison, table: pd.DataFrame) -> Array:
    """Return the factor that turns each weight in units of the data into a weight per SD.

    The table has the difference in both units. If it is not 0, the ratio of the two is the factor.
    Otherwise the factor is the ratio of the SD within the groups of the tested subjects, which is
    nearly the same. Weights of time series are per SD already.
    """
    if comparison.of_series:
        return np.ones(len(table))
    tests, cohort = comparison.tests, comparison.cohort
    # `left_out` has the names of subjects by group.
    gone = {subject for ids in (tests.left_out.values() if tests else ()) for subject in ids}
    kept = np.array([subject not in gone for subject in cohort.ids])
    regions = comparison.regions[kept]
    means = regions.groupby(np.asarray(cohort.group)[kept]).transform("mean")
    # The SD is within the groups, because a difference of their means is not spread.
    sd = (regions - means).std()
    spread = sd[table["source"]].to_numpy() / sd[table["target"]].to_numpy()
    # If the difference is 0, the ratio would be 0 / 0. `spread` takes its place.
    change, std = (table[name].to_numpy(float) for name in ("difference", "difference_std"))
    known = np.isfinite(change) & (change != 0)
    scale: Array = np.where(known, std / np.where(known, change, 1.0), spread)
    return scale


def _at(table: pd.DataFrame, comparison: Comparison, matrix: NDArray[Any]) -> NDArray[Any]:
    """Return the entries of a matrix of regions at the edges of a table."""
    place = {region: k for k, region in enumerate(comparison.cohort.regions)}
    entries: NDArray[Any] = matrix[
        [place[i] for i in table["source"]], [place[j] for j in table["target"]]
    ]
    return entries
