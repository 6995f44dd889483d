"""The replication inside a study: what is said about it."""

from __future__ import annotations

import pandas as pd

from sgbn.comparison.result import Comparison


def replication(comparison: Comparison) -> pd.DataFrame:
    """List edges that the discovery found, with their test in the confirmation."""
    found = comparison.replication
    return pd.DataFrame() if found is None else pd.DataFrame.from_records(found.table)


def replication_words(comparison: Comparison) -> str:
    """Say whether the differences come back in other subjects; "" if it was not asked for."""
    how = comparison.settings.replicate
    if how is None:
        return ""
    if comparison.replication is None:
        return f"Not tried: {comparison.skipped.get('replication', 'not asked for')}"
    return comparison.replication.words
