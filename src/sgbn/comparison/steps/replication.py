"""The tests of the differences in subjects that were held back, and their section of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgbn.comparison.settings import REFUSED
from sgbn.comparison.step import Job, Step, not_done
from sgbn.inference.replication import replicate_differences
from sgbn.prepare.pipeline import prepare
from sgbn.write.page import Field, Table, in_words, make_table, mark_by
from sgbn.write.tables import to_frame

if TYPE_CHECKING:
    import pandas as pd

    from sgbn.comparison.result import Comparison


class ReplicationStep(Step):
    """Test the differences of one part of the subjects again in the other part."""

    name, title = "replication", "Do the differences come back in other subjects?"
    still = "whether the differences come back in other subjects"
    setting, off = "replicate", None
    not_for_series = REFUSED["replicate"]

    def run(self, job: Job, found: dict[str, Any]) -> None:
        """Find differences in one part of the subjects, and test them in the other part."""
        found["replication"] = replicate_differences(
            job.cohort,
            job.settings.replicate or "",
            prepare=prepare,  # each part is prepared by itself
            learner=job.test_searcher,
            # Each part finds its own outliers, as the networks' outliers come from all subjects.
            outliers="keep" if job.settings.outliers == "keep" else "trim",
            level=job.settings.level,
            **job.test_options(self.name),
        )

    def words(self, comparison: Comparison) -> dict[str, str]:
        """Say whether the differences come back in other subjects."""
        if not self.asked(comparison.settings):
            return {}
        found = comparison.replication
        return {self.title: found.words if found else not_done(comparison, self.name)}

    def tables(self, comparison: Comparison) -> dict[str, pd.DataFrame]:
        """Return the differences that were found, with their tests in the other part."""
        found = comparison.replication
        return {"replication": to_frame(found.table)} if found else {}


def replication_section(comparison: Comparison) -> dict[str, Any] | None:
    """Collect words and a table; return None if no replication was asked for."""
    words = comparison.words.replication
    if not words:
        return None
    # If the discovery found nothing, the words say so, and the table would be empty.
    any_found = len(comparison.tables.replication) > 0
    return {"words": words, "table": replication_table(comparison) if any_found else None}


def replication_table(comparison: Comparison) -> Table:
    """Make a table with one row per discovered edge."""
    table = in_words(comparison.tables.replication, "holds_both_ways", "same_sign", "confirmed")
    fields = [
        Field("confirmed", "confirmed"),
        *(Field("source", "from"), Field("target", "to")),
        Field("difference_discovery", "change per SD, discovery", "number"),
        Field("difference_confirmation", "change per SD, confirmation", "number"),
        Field("q_discovery", "q, discovery", "p"),
        Field("p", "p, confirmation", "p"),
        Field("p_holm", "p, Holm", "p"),
        Field("same_sign", "same sign"),
        Field("holds_both_ways", "both ways"),
    ]
    caption = "Edges that the discovery found, in the subjects held back"
    mark = mark_by("confirmed", {"yes": "found"})
    # The table has few rows, so it needs no search.
    return make_table("replication-table", caption, table, fields, mark=mark, searched=False)
