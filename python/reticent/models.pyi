# Written by `python python/stubs.py` from what the models declare.
from typing import Any

from ._estimator import PrivateEstimator
from .linear_model import PrivateFeatureRegression as PrivateFeatureRegression, PrivateLinearRegression as PrivateLinearRegression, PrivateLogisticRegression as PrivateLogisticRegression, PrivateProbitRegression as PrivateProbitRegression
from .mixture import PrivateGaussianMixture as PrivateGaussianMixture
from .neural_network import PrivateNetworkRegressor as PrivateNetworkRegressor, PrivateNetworkClassifier as PrivateNetworkClassifier, PrivateSigmoidBeliefNetwork as PrivateSigmoidBeliefNetwork, VariationalNetwork as VariationalNetwork, PrivateGradientNetwork as PrivateGradientNetwork
from .hmm import PrivateHMM as PrivateHMM
from .topics import PrivateTopics as PrivateTopics
from .conjugate import PrivateBetaBernoulli as PrivateBetaBernoulli, PrivateDirichlet as PrivateDirichlet, PrivateNormal as PrivateNormal, PrivateMultivariateNormal as PrivateMultivariateNormal, PrivatePoisson as PrivatePoisson
from .naive_bayes import PrivateNaiveBayes as PrivateNaiveBayes

ESTIMATORS: dict[str, type[PrivateEstimator]]

def declarations() -> list[dict[str, Any]]: ...
def of_module(module: str) -> dict[str, type[PrivateEstimator]]: ...
