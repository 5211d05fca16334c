"""Bayesian posteriors that may be published: fits to sensitive records under differential privacy.

- A `Schema` states what is publicly known about a table: its columns, their bounds and levels.
- An estimator, such as ``reticent.linear_model.PrivateLogisticRegression``, is a model with a budget. Its ``plan`` states what a fit would release, cost and
  achieve before a record is read; its ``fit`` takes tables of pandas, polars, pyarrow and NumPy, and files.
- A fitted estimator has a posterior in the units of the schema (``summary``, ``posterior``, ``report``, ``predict_interval``) and a ``receipt_``.
- A `Session` owns a budget on the disk, which fits are charged to.
- `accounting` is what releases cost, for mechanisms of any kind.

Examples
--------
>>> import numpy as np
>>> import reticent as rt
>>> from reticent.linear_model import PrivateLogisticRegression
>>> rng = np.random.default_rng(0)
>>> age = rng.uniform(18, 95, 5000)
>>> patients = {"age": age, "stays": rng.random(5000) < 1 / (1 + np.exp(-(age - 60) / 10))}
>>> schema = rt.Schema.of({"age": rt.bounds(18, 95, unit="years")}, target=("stays", bool))
>>> model = PrivateLogisticRegression(epsilon=1, delta=1e-6, schema=schema, progress=False).fit(patients)
>>> bool(0.07 < model.summary()["coefficient[age]"]["mean"] < 0.13)
True
>>> model.receipt_.epsilon <= 1
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._core import __version__
from ._errors import (
    BudgetError,
    BudgetWarning,
    CuratorWarning,
    DataError,
    FileError,
    ModelWarning,
    PrivacyWarning,
    ReticentError,
    SchemaError,
    SettingsError,
    Stopped,
)
from .model import Model, compare, load
from .results import Amount, Evaluation, Plan, Receipt, Report, Summary
from .schema import Schema, bounds, levels, words
from .session import Session

if TYPE_CHECKING:
    from . import accounting, query
    from .pipeline import check_pipeline
    from .plot import plot_budget, plot_effects
    from .query import Query

#: Modules that are imported when they are first used: estimators need scikit-learn, which takes a second.
_MODULES = (
    "accounting",
    "conjugate",
    "hmm",
    "linear_model",
    "mixture",
    "models",
    "naive_bayes",
    "neural_network",
    "query",
    "sep",
    "topics",
    "vb",
)
_FUNCTIONS = {"Query": "query", "check_pipeline": "pipeline", "plot_budget": "plot", "plot_effects": "plot"}

__all__ = [
    "Amount",
    "BudgetError",
    "BudgetWarning",
    "CuratorWarning",
    "DataError",
    "Evaluation",
    "FileError",
    "Model",
    "ModelWarning",
    "Plan",
    "PrivacyWarning",
    "Query",
    "Receipt",
    "Report",
    "ReticentError",
    "Schema",
    "SchemaError",
    "Session",
    "SettingsError",
    "Stopped",
    "Summary",
    "__version__",
    "accounting",
    "bounds",
    "check_pipeline",
    "compare",
    "levels",
    "load",
    "plot_budget",
    "plot_effects",
    "query",
    "words",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f".{name}", __name__)
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(f".{_FUNCTIONS[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
