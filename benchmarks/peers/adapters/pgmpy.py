"""pgmpy: hill climbing."""

import pandas as pd
from pgmpy.causal_discovery import HillClimbSearch


def hc_bic(X):
    """Hill climbing (tabu list of 100, the default) with the Gaussian BIC."""
    names = [f"x{k}" for k in range(X.shape[1])]  # used in formulas: no bare numbers
    search = HillClimbSearch(scoring_method="bic-g", return_type="dag", show_progress=False)
    search.fit(pd.DataFrame(X, columns=names))
    return search.adjacency_matrix_.loc[names, names].to_numpy() != 0
