"""Columns of a series that are known not to be regions: confounds of fMRIPrep and XCP-D."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sgbn.exceptions import counted, listed, warn

# Names in the tables of fMRIPrep and XCP-D, which some write beside the regions.
CONFOUND = re.compile(
    r"(framewise_displacement|fd|rmsd|(std_)?dvars|"
    r"(global_signal|csf|white_matter|csf_wm|(trans|rot)_[xyz])(_derivative1)?(_power2)?|"
    r"[acewt]_comp_cor_\d+|(edge|crown)_comp_\d+|dropped_\d+|cosine_?\d+|"
    r"(motion|non_steady_state)_?outlier_?\d*|aroma_motion_\d+|linear_trend|intercept)"
    r"(_filtered)?",
    re.IGNORECASE,
)


def confounds_among(columns: Iterable[str]) -> list[str]:
    """Columns that are called like confounds."""
    return [name for name in columns if CONFOUND.fullmatch(name.strip())]


def warn_confounds(source: str, names: list[str]) -> None:
    """Say which columns were left out, and how they are kept."""
    if names:
        warn(
            f"{source}: {counted(len(names), 'column is', 'columns are')} called like confounds, "
            f"not regions: {listed(names)}. {'It is' if len(names) == 1 else 'They are'} left "
            "out. If some are regions, name all regions (regions=, --regions)."
        )
