"""The public names of `sgbn.learn`. `__init__.py` loads each name when it is first used."""

from .base import fit_weights as fit_weights
from .classifier import SGBNClassifier as SGBNClassifier
from .confidence import Agreement as Agreement
from .confidence import EdgeConfidence as EdgeConfidence
from .confidence import selection_bound as selection_bound
from .confidence import supported_of as supported_of
from .ensemble import SGBNEnsemble as SGBNEnsemble
from .lasso import alpha_grid as alpha_grid
from .lasso import alpha_max as alpha_max
from .posterior import NetworkPosterior as NetworkPosterior
from .series import SeriesSGBN as SeriesSGBN
from .series import edge_gains as edge_gains
from .series import subject_weights as subject_weights
from .series_features import SeriesLikelihoods as SeriesLikelihoods
from .series_features import SeriesWeights as SeriesWeights
from .sgbn import SGBN as SGBN

__all__: list[str]
