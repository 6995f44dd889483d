"""Review of censored volumes, which cut runs of time series into pieces."""

from __future__ import annotations

from collections.abc import Iterator

from sgbn.cohort.series import FEWEST_VOLUMES, SeriesCohort
from sgbn.core.exceptions import counted
from sgbn.quality.findings import Finding

CENSORED = "censored"  # key of the provenance: how many volumes were left out


def check_censored(cohort: SeriesCohort) -> Iterator[Finding]:
    """Report how many volumes were censored, and how many more were left out with them."""
    censored = cohort.provenance.get(CENSORED)
    if not censored:
        return
    what = (
        f"{counted(censored['volumes'], 'volume')} of {counted(censored['subjects'], 'subject')} "
        f"{'is' if censored['volumes'] == 1 else 'are'} censored (n/a in all regions)"
    )
    if censored["short"]:
        what += (
            f", and {counted(censored['short'], 'more volume is', 'more volumes are')} left out, "
            f"in pieces shorter than {FEWEST_VOLUMES} volumes"
        )
    yield Finding(
        "note",
        what,
        "Runs are cut there, because the volumes before and after are not neighbours in time. "
        "Check that all groups keep about the same number of volumes: sgbn.quality.series_quality "
        "counts them",
    )
