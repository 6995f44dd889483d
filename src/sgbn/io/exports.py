"""Networks as tables."""

from __future__ import annotations

import pandas as pd

from sgbn.gaussian import GaussianNetwork


def edge_table(network: GaussianNetwork) -> pd.DataFrame:
    """Edges of a network, the strongest first: columns source, target, weight."""
    table = pd.DataFrame.from_records(network.edges())
    strongest_first = table["weight"].abs().sort_values(ascending=False, kind="stable").index
    return table.loc[strongest_first].reset_index(drop=True)
