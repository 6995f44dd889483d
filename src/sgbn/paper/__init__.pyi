"""The public names of `sgbn.paper`. `__init__.py` loads each name when it is first used."""

from .classifier_cv import SGBNClassifierCV as SGBNClassifierCV
from .densities import MixtureMeans as MixtureMeans
from .densities import learn_kernel as learn_kernel
from .fisher import FisherVectors as FisherVectors
from .fisher_svm import FisherSVMClassifier as FisherSVMClassifier
from .h_sgbn import HSGBN as HSGBN
from .kl_sgbn import KLSGBNClassifier as KLSGBNClassifier
from .l1mb import L1MB as L1MB
from .markov import GS as GS
from .markov import IAMB as IAMB
from .markov import IAMBnPC as IAMBnPC
from .markov import InterIAMB as InterIAMB
from .markov import InterIAMBnPC as InterIAMBnPC
from .mm_sgbn import CLSGBNClassifier as CLSGBNClassifier
from .mm_sgbn import MMSGBNClassifier as MMSGBNClassifier
from .or_sgbn import ORSGBN as ORSGBN
from .penalised import ConvergenceWarning as ConvergenceWarning
from .tc import TC as TC
from .tc import TCbw as TCbw

BASELINES: tuple[str, ...]
__all__: list[str]
