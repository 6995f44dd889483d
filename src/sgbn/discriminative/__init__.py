"""Networks that tell groups apart."""

from sgbn.discriminative.fisher import FisherVectors
from sgbn.discriminative.likelihood import SGBNClassifier

__all__ = ["FisherVectors", "SGBNClassifier"]
