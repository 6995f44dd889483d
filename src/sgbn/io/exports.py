"""Networks as tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sgbn.exceptions import InputError
from sgbn.gaussian import GaussianNetwork
from sgbn.graph import edge_kinds


def edge_table(network: GaussianNetwork | Any) -> pd.DataFrame:
    """Edges of a network, or of a fitted learner, the strongest first.

    Returns
    -------
    DataFrame
        Columns source, target, weight (in the units of the data), weight_std (per standard
        deviation that the network implies), by the size of which the rows are sorted, and
        direction: what it rests on, see `sgbn.graph.edge_kinds`. Only a learner knows of prior
        knowledge and of equal variances.
    """
    learner, network = network, getattr(network, "network_", network)
    if not hasattr(network, "edges"):
        raise InputError(
            f"{type(network).__name__} is no network and no fitted learner. Fit it first; of a "
            "Pipeline give the last step."
        )
    table = pd.DataFrame.from_records(network.edges())
    kinds = getattr(learner, "edge_kinds_", None)
    sd = pd.Series(np.sqrt(np.diag(network.covariance)), index=network.names)
    ratio = table["source"].map(sd).astype(float) / table["target"].map(sd).astype(float)
    table["weight_std"] = table["weight"] * ratio
    table["direction"] = edge_kinds(network.coef) if kinds is None else kinds
    strongest_first = table["weight_std"].abs().sort_values(ascending=False, kind="stable").index
    return table.loc[strongest_first].reset_index(drop=True)
