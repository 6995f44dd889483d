"""Networks that tell groups apart."""

from sgbn.discriminative.cl_sgbn import CLSGBNClassifier
from sgbn.discriminative.cross_validated import SGBNClassifierCV
from sgbn.discriminative.fisher import FisherVectors
from sgbn.discriminative.kl_sgbn import KLSGBNClassifier
from sgbn.discriminative.likelihood import SGBNClassifier
from sgbn.discriminative.mm_sgbn import MMSGBNClassifier

__all__ = [
    "CLSGBNClassifier",
    "FisherVectors",
    "KLSGBNClassifier",
    "MMSGBNClassifier",
    "SGBNClassifier",
    "SGBNClassifierCV",
]
