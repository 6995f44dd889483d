"""Review of motion: mean framewise displacement, which changes correlations between regions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sgbn.cohort import Cohort
from sgbn.exceptions import counted
from sgbn.quality.balance import IMBALANCE
from sgbn.quality.findings import Finding

MEAN_FD = "mean_fd"
UNNAMED = "unnamed_motion"  # fact of the provenance: motion that is known and not a covariate
TAKEN = "taken_motion"  # the same: motion that is a covariate, though nobody named it
# Names of columns in lower case, letters and digits only.
NAMES = re.compile(
    r"(func)?(mean|avg|average)?(fd|framewisedisplacement)(mean|avg|jenkinson|power)?|"
    r"(mean)?(head)?motion(mean)?"
)


def motion_column(columns: Iterable[str]) -> str | None:
    """Return the column that holds the mean framewise displacement, by its name."""
    motion = [name for name in columns if NAMES.fullmatch(re.sub(r"[\W_]+", "", name).lower())]
    return MEAN_FD if MEAN_FD in motion else next(iter(motion), None)


def check_motion(cohort: Cohort) -> Iterator[Finding]:
    """Whether motion is a covariate; if not, whether the groups differ in it."""
    if motion_column(cohort.covariates) is not None:
        if TAKEN in cohort.provenance:
            yield _taken(cohort.provenance[TAKEN])
        return
    known = cohort.provenance.get(UNNAMED, {})
    if not known:
        yield Finding(
            "note",
            "nothing is known about motion",
            "It changes correlations between regions: give mean framewise displacement as a "
            f"covariate if you have it (--covariates {MEAN_FD}, covariates={MEAN_FD!r})",
        )
    # The table was read without this column, so that only what its reader noted is known.
    for name, facts in known.items():
        means = ", ".join(f"{group} {mean:.3g}" for group, mean in facts["means"].items())
        if facts["missing"]:
            means += f"; not known of {counted(facts['missing'], 'subject')}"
        remedy = f"--covariates {name} (covariates={name!r})"
        if facts["p"] is not None and facts["p"] < IMBALANCE:
            yield Finding(
                "warning",
                f"the groups differ in motion ({name!r}: {means}; p = {facts['p']:.2g}), but it is "
                "not a covariate",
                "Motion changes correlations between regions, so that differences may be due to "
                f"it alone: name it, {remedy}",
            )
        else:
            yield Finding(
                "note",
                f"motion is known ({name!r}: {means}), but is not a covariate",
                f"It changes correlations between regions: name it, {remedy}",
            )


def _taken(name: str) -> Finding:
    return Finding(
        "note",
        f"motion was found beside the series, and is held fixed as the covariate {name!r}",
        f"Nobody named it: --exclude {name} (exclude={name!r}) leaves it out",
    )
