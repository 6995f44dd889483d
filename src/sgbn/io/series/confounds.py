"""Columns of a series that are not regions, but confounds of fMRIPrep and XCP-D."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sgbn.core.exceptions import counted, listed, warn

# Names in the tables of fMRIPrep and XCP-D. Some users write these columns beside the regions.
CONFOUND = re.compile(
    r"(framewise_displacement|fd|rmsd|(std_)?dvars|"
    r"(global_signal|csf|white_matter|csf_wm|(trans|rot)_[xyz])(_derivative1)?(_power2)?|"
    r"[acewt]_comp_cor_\d+|(edge|crown)_comp_\d+|dropped_\d+|cosine_?\d+|"
    r"(motion|non_steady_state)_?outlier_?\d*|aroma_motion_\d+|linear_trend|intercept)"
    r"(_filtered)?",
    re.IGNORECASE,
)


def confounds_among(columns: Iterable[str]) -> list[str]:
    """Return the columns that are named like confounds."""
    return [name for name in columns if CONFOUND.fullmatch(name.strip())]


def warn_confounds(source: str, names: list[str]) -> None:
    """Warn about the columns that are left out, and say how to keep them."""
    if names:
        warn(
            f"{source}: {counted(len(names), 'column is', 'columns are')} named like confounds, "
            f"not like regions: {listed(names)}. {'It is' if len(names) == 1 else 'They are'} left "
            "out. If some are regions, name all regions (regions=, --regions)."
        )
