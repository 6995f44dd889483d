"""The results of a comparison as tables, for the report and for CSV files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.comparison.steps import STEPS
from sgbn.comparison.steps.data import table_one
from sgbn.comparison.steps.residuals import residual_table
from sgbn.comparison.steps.series_data import series_table, with_volumes
from sgbn.inference.regional import regional_differences
from sgbn.write.tables import frame_of, to_frame

if TYPE_CHECKING:
    import pandas as pd

    from sgbn.comparison.result import Comparison


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
    made = {"subjects": _subjects(comparison)}
    for step in STEPS:
        made |= step.tables(comparison)
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
    for name in {"subjects", "series"} & set(made):
        made[name] = _as_given(comparison, made[name])
    # Empty tables instead of None, so that code that writes or shows tables needs no check.
    not_done = {name: frame_of() for name in Tables._fields if name not in made}
    return Tables(**made, **not_done)


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
