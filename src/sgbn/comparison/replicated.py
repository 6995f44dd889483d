"""The replication inside a study: what is said about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgbn.comparison.pending_words import not_done

if TYPE_CHECKING:
    from sgbn.comparison.result import Comparison


def replication_words(comparison: Comparison) -> str:
    """Say whether the differences come back in other subjects; "" if it was not asked for."""
    how = comparison.settings.replicate
    if how is None:
        return ""
    if comparison.replication is None:
        return not_done(comparison, "replication")
    return comparison.replication.words
