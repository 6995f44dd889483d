"""Classifiers and features that distinguish groups by their networks."""

from sgbn.discriminative.cl_sgbn import CLSGBNClassifier
from sgbn.discriminative.cross_validated import SGBNClassifierCV
from sgbn.discriminative.densities import MixtureMeans, learn_kernel
from sgbn.discriminative.fisher import FisherVectors
from sgbn.discriminative.fisher_svm import FisherSVMClassifier
from sgbn.discriminative.kl_sgbn import KLSGBNClassifier
from sgbn.discriminative.mm_sgbn import MMSGBNClassifier
from sgbn.learn.classifier import SGBNClassifier
from sgbn.learn.series_features import SeriesLikelihoods, SeriesWeights

__all__ = [
    "CLSGBNClassifier",
    "FisherSVMClassifier",
    "FisherVectors",
    "KLSGBNClassifier",
    "MMSGBNClassifier",
    "MixtureMeans",
    "SGBNClassifier",
    "SGBNClassifierCV",
    "SeriesLikelihoods",
    "SeriesWeights",
    "learn_kernel",
]
