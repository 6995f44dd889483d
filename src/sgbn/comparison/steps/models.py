"""The comparison of networks with other models of the same data, and its section of the page."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sgbn.comparison.names import called
from sgbn.comparison.step import Job, Step
from sgbn.core.problems import counted
from sgbn.inference.models import FACTORS, NETWORK, compare_models, edges_beside_factors
from sgbn.learn.base import warnings_about
from sgbn.prepare.pipeline import impute
from sgbn.write.page import Field, Table, fixed, make_table, mark_by
from sgbn.write.tables import to_frame

if TYPE_CHECKING:
    import pandas as pd

    from sgbn.comparison.result import Comparison


class ModelsStep(Step):
    """Compare each network with models without edges, and refit its edges with hidden factors."""

    name, title = "models", "Is a network the right picture?"
    setting = "models"
    not_for_series = "the comparison of a network with hidden factors needs one row per subject"

    def run(self, job: Job, found: dict[str, Any]) -> None:
        """Compare the models of each group.

        `compare_models` takes sites and covariates out in each training part, so it gets regions
        with these effects. The edges are refitted to the subjects from which the network was
        learned.
        """
        # If a group fails, the groups before it are kept. `of_groups` names the others.
        found |= {"models": {}, "beside_factors": {}}
        labels = np.asarray(job.prepared.group)
        cohort = impute(job.cohort)  # unlike `prepared`, it has the effects of site and covariates
        for number, group in enumerate(job.groups):
            with warnings_about(group):
                found["models"][group] = compared = compare_models(
                    cohort,
                    group,
                    job.searcher,
                    random_state=job.settings.seed,
                    **asdict(job.study.part(f"models-{number}")),
                )
                kept = job.prepared.subset((labels == group) & ~found["outliers"])
                found["beside_factors"][group] = edges_beside_factors(
                    kept, found["learners"][group], compared.leading_factors
                )

    def words(self, comparison: Comparison) -> dict[str, str]:
        """Say which model predicts unseen subjects best and which edges stay, by group."""
        lines = []
        for group, compared in comparison.models.items():
            line = f"{called(group)}: {compared.verdict}"
            beside = comparison.beside_factors.get(group)
            if beside is not None and len(beside):
                stays, k = beside["stays"], compared.leading_factors
                factors = "hidden factor is" if k == 1 else f"{k} hidden factors are"
                line += (
                    f" {stays.sum()} of the {counted(len(stays), 'edge')} of the network "
                    f"{'stays' if stays.sum() == 1 else 'stay'} when the leading "
                    f"{factors} taken out."
                )
            lines.append(line)
        return {self.title: "\n".join(lines)}

    def tables(self, comparison: Comparison) -> dict[str, pd.DataFrame]:
        """Return the prediction of unseen subjects by each model."""
        models = comparison.models
        table = to_frame({group: compared.table for group, compared in models.items()}, "group")
        if models:
            n_factors = {group: float(compared.n_factors) for group, compared in models.items()}
            # Other models have no hidden factors. They get NaN, because 0 would look like a result.
            table["factors"] = table["group"].map(n_factors).where(table["model"] == FACTORS)
        return {"models": table}


def models_section(comparison: Comparison) -> dict[str, Any] | None:
    """Collect a verdict per group and a table; return None if models were not compared."""
    if not comparison.models:
        return None
    lines = [f"{group}: {compared.verdict}" for group, compared in comparison.models.items()]
    return {"lines": lines, "table": models_table(comparison)}


def models_table(comparison: Comparison) -> Table:
    """Make a table with one row per group and model."""
    table = comparison.tables.models
    # Models often differ only in the second or third decimal.
    three_places = partial(fixed, places=3)
    columns = ("log_likelihood", "difference", "standard_error")
    table = table.assign(**{name: table[name].map(three_places) for name in columns})
    fields = [
        *(Field("group", "group"), Field("model", "model")),
        Field("factors", "hidden factors", "count"),
        Field("log_likelihood", "log-likelihood"),
        Field("difference", "difference from the network"),
        Field("standard_error", "standard error"),
    ]
    caption = "Prediction of unseen subjects, per region"
    mark = mark_by("model", {NETWORK: "ours"})
    return make_table("models-table", caption, table, fields, mark=mark, searched=False)
