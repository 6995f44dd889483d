"""Review of motion: mean framewise displacement, which changes correlations between regions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sgbn.cohort.cohort import Cohort
from sgbn.core.exceptions import counted
from sgbn.quality.balance import IMBALANCE
from sgbn.quality.findings import Finding

MEAN_FD = "mean_fd"
# Keys of the provenance: motion that is known but not a covariate, and motion that the reader made
# a covariate although the user did not name it.
UNNAMED = "unnamed_motion"
TAKEN = "taken_motion"
# Names of columns of motion, in lower case and without characters other than letters and digits.
NAMES = re.compile(
    r"(func)?(mean|avg|average)?(fd|framewisedisplacement)(mean|avg|jenkinson|power)?|"
    r"(mean)?(head)?motion(mean)?"
)


def motion_column(columns: Iterable[str]) -> str | None:
    """Return the column whose name means mean framewise displacement; None without one."""
    motion = [name for name in columns if NAMES.fullmatch(re.sub(r"[\W_]+", "", name).lower())]
    return MEAN_FD if MEAN_FD in motion else next(iter(motion), None)


def check_motion(cohort: Cohort) -> Iterator[Finding]:
    """Check whether motion is a covariate and, if not, whether the groups differ in it."""
    if motion_column(cohort.covariates) is not None:
        if TAKEN in cohort.provenance:
            yield _taken(cohort.provenance[TAKEN])
        return
    known = cohort.provenance.get(UNNAMED, {})
    if not known:
        yield Finding(
            "note",
            "nothing is known about motion",
            "Motion changes correlations between regions. If you have mean framewise displacement, "
            f"give it as a covariate: --covariates {MEAN_FD} (covariates={MEAN_FD!r})",
        )
    # The cohort does not have this column, but its reader noted these facts.
    for name, facts in known.items():
        means = ", ".join(f"{group} {mean:.3g}" for group, mean in facts["means"].items())
        if facts["missing"]:
            means += f"; not known for {counted(facts['missing'], 'subject')}"
        remedy = f"--covariates {name} (covariates={name!r})"
        if facts["p"] is not None and facts["p"] < IMBALANCE:
            yield Finding(
                "warning",
                f"the groups differ in motion ({name!r}: {means}; p = {facts['p']:.2g}), but it is "
                "not a covariate",
                "Motion changes correlations between regions, so that differences may come from "
                f"motion alone. Name it: {remedy}",
            )
        else:
            yield Finding(
                "note",
                f"motion is known ({name!r}: {means}), but is not a covariate",
                f"Motion changes correlations between regions. Name it: {remedy}",
            )


def _taken(name: str) -> Finding:
    return Finding(
        "note",
        f"motion was found beside the series, and is held fixed as the covariate {name!r}",
        f"You did not name it. To leave it out: --exclude {name} (exclude={name!r})",
    )
