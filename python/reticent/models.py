"""Every model of the registry as an estimator, made from what the model declares about itself.

The classes are also in `reticent.linear_model`, `naive_bayes`, `mixture`, `neural_network`, `topics`, `hmm` and `conjugate`.
"""

from __future__ import annotations

import json
import textwrap
from typing import Any

from . import _core
from ._estimator import (
    COMMON,
    DOCUMENTED,
    PrivateClassifier,
    PrivateComponents,
    PrivateDensity,
    PrivateEstimator,
    PrivateRegressor,
    parameter_name,
)

#: The module and the name of a class, where they are not made from the name of the model.
_KNOWN = {
    "regression": ("linear_model", "PrivateFeatureRegression"),
    "linear": ("linear_model", "PrivateLinearRegression"),
    "logistic": ("linear_model", "PrivateLogisticRegression"),
    "probit": ("linear_model", "PrivateProbitRegression"),
    "naive-bayes": ("naive_bayes", "PrivateNaiveBayes"),
    "mixture": ("mixture", "PrivateGaussianMixture"),
    "network": ("neural_network", "PrivateNetwork"),
    "network-vi": ("neural_network", "VariationalNetwork"),
    "network-sgd": ("neural_network", "PrivateGradientNetwork"),
    "sigmoid-belief": ("neural_network", "PrivateSigmoidBeliefNetwork"),
    "topics": ("topics", "PrivateTopics"),
    "hmm": ("hmm", "PrivateHMM"),
    "beta-bernoulli": ("conjugate", "PrivateBetaBernoulli"),
    "dirichlet": ("conjugate", "PrivateDirichlet"),
    "normal": ("conjugate", "PrivateNormal"),
    "multivariate-normal": ("conjugate", "PrivateMultivariateNormal"),
    "poisson": ("conjugate", "PrivatePoisson"),
}

#: Models of components or topics, to which records belong.
_WITH_COMPONENTS = ("mixture", "topics", "sigmoid-belief")

_BASES: dict[str, tuple[type[PrivateEstimator], str, dict[str, Any]]] = {
    "number": (PrivateRegressor, "Regressor", {"target_bounds": None}),
    "two-classes": (PrivateClassifier, "Classifier", {"classes": None}),
    "classes": (PrivateClassifier, "Classifier", {"classes": None}),
    "nothing": (PrivateDensity, "", {}),
}


def declarations() -> list[dict[str, Any]]:
    """What each model declares about itself: name, what it is for and not for, targets, settings with ranges and defaults, papers."""
    declared: list[dict[str, Any]] = json.loads(_core.models())
    return declared


def _parameters(declared: dict[str, Any], extra: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a constructor with their defaults."""
    parameters = dict(COMMON)
    if not declared["can_be_private"]:
        parameters["epsilon"] = None
    parameters.update(extra)
    # A setting that is not given has the model's default, which may depend on the table.
    parameters.update({parameter_name(setting["name"]): None for setting in declared["settings"]})
    return parameters


def _constructor(parameters: dict[str, Any], name: str, module: str) -> Any:
    """A constructor that stores its arguments, as scikit-learn's conventions ask for."""
    first = ["epsilon", "delta"]
    signature = ", ".join(f"{name}={default!r}" for name, default in parameters.items() if name in first)
    rest = ", ".join(f"{name}={default!r}" for name, default in parameters.items() if name not in first)
    body = "\n".join(f"    self.{name} = {name}" for name in parameters)
    scope: dict[str, Any] = {}
    exec(f"def __init__(self, {signature}, *, {rest}):\n{body}\n", scope)
    made = scope["__init__"]
    made.__qualname__ = f"{name}.__init__"
    made.__module__ = module
    return made


def _documentation(declared: dict[str, Any], extra: dict[str, Any], target: str) -> str:
    about = declared["about"]
    lines = [f"{about[0].upper()}{about[1:]}, with differential privacy." if declared["can_be_private"] else f"{about[0].upper()}{about[1:]}. **Not private.**"]
    lines += ["", f"Not for: {declared['not_for']}.", "", "Parameters", "----------"]
    settings = {parameter_name(setting["name"]): setting for setting in declared["settings"]}
    for name in _parameters(declared, extra):
        if name in settings:
            setting = settings[name]
            kind = {"number": "float", "integer": "int", "flag": "bool", "choice": "str"}[setting["kind"]]
            unit = f" Unit: {setting['unit']}." if setting["unit"] else ""
            text = f"{setting['about'][0].upper()}{setting['about'][1:]}; {setting['range']}.{unit}"
            default = "" if setting["default"] is None else f", default {setting['default']}"
            lines.append(f"{name} : {kind}{default}")
        else:
            kind, text = DOCUMENTED[name]
            lines.append(f"{name} : {kind}")
        lines += textwrap.wrap(text, 100, initial_indent="    ", subsequent_indent="    ")
    lines += ["", "Attributes", "----------"]
    attributes = {
        "model_": "The fitted model: what a model file has.",
        "schema_": "What is publicly known about the columns, with bounds that were estimated.",
        "receipt_": "What was spent, on what, and under which assumptions.",
    }
    if target in ("two-classes", "classes"):
        attributes["classes_"] = "The classes; of two, the second is the one whose probability is modelled."
    for name, text in attributes.items():
        lines += [name, f"    {text}"]
    lines += ["", "References", "----------", *(f"- {reference}" for reference in declared["references"])]
    return "\n".join(lines) + "\n"


def _class(declared: dict[str, Any], target: str, several: bool) -> type[PrivateEstimator]:
    base, suffix, extra = _BASES[target]
    if declared["name"] in _WITH_COMPONENTS:
        base = PrivateComponents
    usual = "".join(part.capitalize() for part in declared["name"].split("-"))
    module, name = _KNOWN.get(declared["name"], ("models", f"Private{usual}"))
    name += suffix if several else ""
    where = f"reticent.{module}"
    content = {
        "__init__": _constructor(_parameters(declared, extra), name, where),
        "__doc__": _documentation(declared, extra, target),
        "__module__": where,
        "_declared": declared,
        "_kind": target,
    }
    return type(name, (base,), content)


def _all() -> dict[str, type[PrivateEstimator]]:
    made: dict[str, type[PrivateEstimator]] = {}
    for declared in declarations():
        # A model of two classes and of several is one classifier.
        targets = [target for target in declared["targets"] if not (target == "classes" and "two-classes" in declared["targets"])]
        for target in targets:
            estimator = _class(declared, target, len(targets) > 1)
            made[estimator.__name__] = estimator
    return made


ESTIMATORS = _all()
globals().update(ESTIMATORS)


def of_module(module: str) -> dict[str, type[PrivateEstimator]]:
    """The estimators of a module of the package."""
    return {name: estimator for name, estimator in ESTIMATORS.items() if estimator.__module__ == f"reticent.{module}"}


__all__ = ["ESTIMATORS", "declarations", *ESTIMATORS]  # pyright: ignore[reportUnsupportedDunderAll]
