"""The conventions of scikit-learn, for every model of the registry."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import reticent as rt
from reticent.models import ESTIMATORS, declarations

#: Checks that compare two noisy fits with each other.
TWO_FITS = {
    "check_classifier_data_not_an_array",
    "check_classifiers_one_label_sample_weights",
    "check_dict_unchanged",
    "check_fit_idempotent",
    "check_regressor_data_not_an_array",
    "check_regressors_int",
    "check_supervised_y_2d",
}

#: What the checks' matrices need beside a budget.
SPECIAL: dict[str, dict[str, Any]] = {
    "PrivateGaussianMixture": {"components": 2, "noise_sd": 0.2},
    "PrivateNetworkClassifier": {"epsilon": None},
    "VariationalNetwork": {"epsilon": None},
}

#: Estimators of something else than a matrix of numbers.
NOT_NUMERIC = {
    "PrivateHMM": "a region, a time and categories",
    "PrivatePoisson": "counts from 0 to a public bound",
    "PrivateTopics": "texts",
}


def test_every_model_has_an_estimator() -> None:
    declared = {model["name"] for model in declarations()}
    assert {estimator._declared["name"] for estimator in ESTIMATORS.values()} == declared
    for name, estimator in ESTIMATORS.items():
        module = __import__(estimator.__module__, fromlist=[name])
        assert getattr(module, name) is estimator
        documentation = inspect.getdoc(estimator)
        assert documentation is not None
        for parameter in inspect.signature(estimator).parameters:
            assert f"\n{parameter} : " in documentation, (name, parameter)


@pytest.mark.parametrize("name", sorted(set(ESTIMATORS) - set(NOT_NUMERIC)))
def test_conventions(name: str) -> None:
    """Nothing fails but what compares two noisy fits."""
    common = {"epsilon": 50.0, "delta": 1e-3, "assume_public": True, "allow_large_delta": True, "progress": False}
    estimator = ESTIMATORS[name](**{**common, **SPECIAL.get(name, {})})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None, on_skip=None)
    assert sum(result["status"] == "passed" for result in results) > 25
    for result in results:
        if result["status"] == "failed":
            comparison = isinstance(result["exception"], AssertionError) and result["check_name"] in TWO_FITS
            assert comparison, f"{result['check_name']}: {result['exception']}"


def test_counts_from_0_are_fitted() -> None:
    counts = np.random.default_rng(0).poisson(3.0, (5000, 2))
    model = ESTIMATORS["PrivatePoisson"](epsilon=1, bounds=(0, 20), bound=20).fit(counts)
    rates = [row["mean"] for row in model.summary() if row["variable"] == "rate"]
    np.testing.assert_allclose(rates, [3.0, 3.0], atol=0.2)


def test_texts_have_topics() -> None:
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(["cat", "dog"] if k % 2 else ["sun", "rain"], 20)) for k in range(2000)]
    schema = rt.Schema.of({"text": rt.words(["cat", "dog", "sun", "rain"])})
    model = ESTIMATORS["PrivateTopics"](epsilon=8, schema=schema, topics=2).fit({"text": texts})
    shares = model.predict_proba({"text": ["cat dog cat dog cat", "sun rain sun rain rain"]})
    assert shares.shape == (2, 2)
    assert np.argmax(shares[0]) != np.argmax(shares[1])


def test_parameters_are_kept_and_cloned(stays: rt.Schema) -> None:
    for name, estimator in ESTIMATORS.items():
        made = estimator(epsilon=2.0, schema=stays)
        again = clone(made)
        assert again.get_params()["epsilon"] == 2.0, name
        assert again.get_params()["schema"] == stays
        assert made.set_params(delta=1e-7).delta == 1e-7


def test_settings_are_those_of_the_model(patients: dict[str, Any], stays: rt.Schema) -> None:
    logistic = ESTIMATORS["PrivateLogisticRegression"]
    fitted = logistic(schema=stays, prior_variance=3.0).fit(patients)
    assert fitted.model_.card["settings"] == {"prior-variance": 3.0}
    with pytest.raises(rt.SettingsError, match="from 1e-6 to 1e6"):
        logistic(schema=stays, prior_variance=-1.0).fit(patients)
    with pytest.raises(rt.SettingsError, match="components"):
        ESTIMATORS["PrivateGaussianMixture"](bounds=(0, 1)).fit(np.zeros((10, 2)))


def test_score_and_probabilities_agree(patients: dict[str, Any], stays: rt.Schema) -> None:
    model = ESTIMATORS["PrivateLogisticRegression"](epsilon=4, schema=stays).fit(patients)
    probabilities = model.predict_proba(patients)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert list(model.classes_) == [False, True]
    assert model.score(patients, patients["stays"]) == np.mean((probabilities[:, 1] > 0.5) == patients["stays"])
    low, high = model.predict_interval(patients).T
    assert np.all((low <= probabilities[:, 1]) & (probabilities[:, 1] <= high))


def test_the_positive_class_is_that_of_the_schema(patients: dict[str, Any]) -> None:
    answers = np.where(patients["stays"], "yes", "no")
    schema = rt.Schema.of({"age": rt.bounds(18, 95)}, target=("stays", rt.levels(["yes", "no"], positive="yes")))
    model = ESTIMATORS["PrivateLogisticRegression"](epsilon=4, schema=schema).fit({"age": patients["age"]}, answers)
    old = model.predict_proba({"age": [90.0]})[0]
    assert dict(zip(model.classes_, old))["yes"] > 0.8
    assert model.summary()["coefficient[age]"]["mean"] > 0


def test_repeated_fits_without_a_session_warn(patients: dict[str, Any], stays: rt.Schema) -> None:
    model = ESTIMATORS["PrivateNaiveBayes"](schema=stays)
    model.fit(patients)
    with pytest.warns(rt.BudgetWarning, match="add up"):
        model.fit(patients)


def test_pipelines_that_learn_are_refused() -> None:
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

    last = ESTIMATORS["PrivateLinearRegression"](bounds=(0, 1), target_bounds=(0, 1))
    rt.check_pipeline(make_pipeline(FunctionTransformer(np.abs), Normalizer(), "passthrough", last))
    for step in (StandardScaler(), make_pipeline(Normalizer(), StandardScaler()), ColumnTransformer([("a", StandardScaler(), [0])])):
        with pytest.raises(rt.SettingsError, match="fitted to the records"):
            rt.check_pipeline(make_pipeline(step, last))
