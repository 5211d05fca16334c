"""Estimators in the manner of scikit-learn, made from what the models declare about themselves."""

from __future__ import annotations

import contextlib
import json
import keyword
import math
import numbers
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, DensityMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _core
from ._errors import BudgetWarning, CuratorWarning, DataError, ModelWarning, SchemaError, SettingsError, Stopped, public, read_file
from ._progress import reporter
from ._tables import (
    Records,
    check_columns,
    codes,
    column,
    column_names,
    date_columns,
    is_frame,
    is_lazy,
    is_path,
    level_texts,
    matrix,
    matrix_table,
    table,
    target_vector,
)
from .model import Array, Model
from .results import Evaluation, Plan, Receipt, Report, Summary
from .schema import Schema, bounds, facts_of, levels
from .session import Session

#: What a target is called that has no name of its own.
TARGET = "y"

#: Parameters of every estimator, with their defaults, in the order of the signature. Those of `epsilon` and `delta` may be given by place.
COMMON: dict[str, Any] = {
    "epsilon": 1.0,
    "delta": 1e-6,
    "schema": None,
    "bounds": None,
    "session": None,
    "adjacency": "replace-one",
    "records": None,
    "privacy_unit": None,
    "rows_per_unit": None,
    "assume_public": False,
    "bounds_share": None,
    "use_plan": None,
    "memory": None,
    "out": None,
    "overwrite": False,
    "holdout": None,
    "allow_large": False,
    "allow_large_delta": False,
    "progress": None,
}

DOCUMENTED: dict[str, tuple[str, str]] = {
    "epsilon": ("float or None", "What may be spent. None fits without privacy: a baseline to keep to yourself."),
    "delta": ("float", "The probability that the guarantee may fail: well below one over the number of records."),
    "schema": ("Schema, optional", "What is publicly known about the columns. Without one it is made from `bounds` and the names and types of the columns."),
    "bounds": (
        "pair, list or dict, optional",
        "Public facts about the features, without a schema: ``(low, high)`` for all of them, a list with one for each, or a dict by name with "
        "anything that `Schema.of` takes. They are never read from the data unless `assume_public` is set.",
    ),
    "classes": ("sequence, optional", "The classes of the target; of two, the second is the one whose probability is modelled."),
    "target_bounds": ("pair, optional", "Public bounds of the target, without a schema."),
    "session": ("Session, optional", "The data set that the fit is charged to. Without one, costs of several fits are not added up."),
    "adjacency": (
        "{'replace-one', 'add-remove'}",
        "Which data sets must be hard to distinguish. Under replace-one the number of records is public; under add-remove it is not, and `records` is a "
        "public guess.",
    ),
    "records": ("int, optional", "About how many records, or privacy units, there are: for add-remove adjacency only."),
    "privacy_unit": ("str, optional", "A column: all rows with the same value in it, such as those of one person, are protected together."),
    "rows_per_unit": ("int, optional", "Of each privacy unit at most so many rows count, in place of the mean of all its rows."),
    "assume_public": (
        "bool",
        "Whether bounds and classes that are not stated are read from the data and assumed to be public. The receipt carries that assumption; nothing "
        "protects them.",
    ),
    "bounds_share": ("float, optional", "The share of the budget for bounds that the schema leaves private: a tenth unless stated."),
    "use_plan": ("dict, Plan or path, optional", "A plan to run, that `plan` made, edited or not."),
    "memory": ("int, optional", "Bytes of encoded records that are kept in memory: a quarter of the machine's unless stated. More are read again for each release."),
    "out": ("path, optional", "The model file. A fit with one keeps what it releases in a journal beside it, and can be resumed."),
    "overwrite": ("bool", "Whether the model file may be replaced, whatever it has cost."),
    "holdout": ("float, optional", "A share of the records that is kept out of the fit by secret coins, for a private evaluation. Needs `out`."),
    "allow_large": ("bool", "Allows a fit that takes much memory, time or disk."),
    "allow_large_delta": ("bool", "Allows a delta of one over the number of records or more, at which a fit may publish whole records."),
    "progress": ("bool or callable, optional", "Progress on the terminal or in a notebook, or a function of what is released, its number, and how many there are."),
}

#: How many rows there are may be private.
_LENGTHS = "Found input variables with inconsistent numbers of samples: give as many targets as rows"

_fits_without_session = 0


class PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """What all estimators share. The classes that are fitted are made by `reticent.models`."""

    _declared: ClassVar[dict[str, Any]] = {}
    _kind: ClassVar[str] = "nothing"

    # Set by the constructor that is made for each class.
    epsilon: float | None
    delta: float
    schema: Schema | None
    bounds: Any
    session: Session | None
    adjacency: str
    assume_public: bool
    progress: Any
    model_: Model

    # ------------------------------------------------------------------ fit

    @public
    def fit(self, X: Records, y: Any = None, *, resume: bool = False) -> Any:
        """Fit the model to private records.

        Parameters
        ----------
        X
            A table of pandas, polars, pyarrow or anything with the Arrow PyCapsule interface, whose columns are found by name; a matrix of NumPy; or the path of
            CSV or Parquet files, with a `schema`. Records must not have been changed by a step that was itself fitted to them, such as a `StandardScaler`: what
            it has learnt would leak. `reticent.check_pipeline` finds such steps.
        y
            The target. A table that has the target of the schema needs none.
        resume
            Whether to continue the run that was interrupted, from the journal beside `out`, at no further cost.

        Returns
        -------
        self

        Raises
        ------
        BudgetError
            If the plan costs more than the budget, or the session has too little left. Nothing was released then.
        Stopped
            If Ctrl-C was pressed. The message states what stays charged; with `out` or a `session` the run can be resumed.

        Notes
        -----
        No value of a record is an error: a value that the schema does not allow takes the schema's rule, and a record without a target contributes nothing.
        Exceptions have no traceback below this call, whose frames would hold the records.
        """
        options = self._options()
        schema, data = self._records(X, y)
        session = self.session
        out = options.get("out")
        if session is not None and out is None:
            out = options["out"] = os.fspath(session._file(self._declared["name"]))
        if resume:
            options["resume"] = True
        self._count_fits()
        progress, end = reporter(self.progress)
        notices: list[str] = []
        try:
            core = _core.fit(self._declared["name"], schema._core, data, json.dumps(options), progress, notices.append)
        except Stopped:
            if session is not None:
                session._again = self._resumption(X, y, out)
            raise
        finally:
            end()
        for notice in notices:
            warnings.warn(notice, CuratorWarning, stacklevel=3)
        if session is not None:
            session._again = None
        self._accept(Model(core))
        for warning in self.model_.warnings:
            warnings.warn(warning, ModelWarning, stacklevel=3)
        return self

    def _resumption(self, X: Records, y: Any, out: str | None) -> Any:
        def again() -> Any:
            before = self.out  # type: ignore[has-type]
            self.out = out
            try:
                return self.fit(X, y, resume=True)
            finally:
                self.out = before

        return again

    def _count_fits(self) -> None:
        global _fits_without_session
        if self.epsilon is None or self.session is not None:
            return
        _fits_without_session += 1
        if _fits_without_session > 1:
            warnings.warn(
                "several fits were made without a session: if they are about the same people, their costs add up, and nothing counts them. "
                "Give them a `session`.",
                BudgetWarning,
                stacklevel=4,
            )

    def _accept(self, model: Model) -> None:
        """Takes over a fitted model."""
        self.model_ = model
        self.schema_ = model.schema
        self.receipt_ = model.receipt
        self.n_iter_ = max(1, sum(int(group["made"]) for group in self.receipt_["groups"]))
        summary = json.loads(model._core.summary())
        slopes = [row["mean"] for row in summary if row["variable"] == "coefficient"]
        if slopes:
            intercept = [row["mean"] for row in summary if row["variable"] == "intercept"]
            one = self._kind == "number"
            self.coef_ = np.array(slopes) if one else np.array([slopes])
            self.coef_names_ = np.array([row["place"][0][1] for row in summary if row["variable"] == "coefficient"], dtype=object)
            self.intercept_ = (intercept[0] if one else np.array(intercept[:1])) if intercept else 0.0

    @classmethod
    def of_model(cls, model: Model) -> Any:
        """An estimator with the posterior of a model file."""
        if model.name != cls._declared["name"]:
            raise SettingsError(f"the file holds a {model.name} model", f"use the class of {model.name}, or the model itself")
        made = cls(schema=model.schema)
        made._accept(model)
        made.n_features_in_ = len(model.schema.features)
        if isinstance(made, PrivateClassifier):
            made._stated()
        return made

    # -------------------------------------------------------------- records

    def _records(self, X: Records, y: Any) -> tuple[Schema, Any]:
        """The schema, and the records as the native part takes them."""
        stated = self._stated()
        if is_path(X):
            if stated is None:
                raise SchemaError("files need a schema", "give `schema`, which states what is publicly known about the columns")
            if y is not None:
                raise SettingsError("the target of files is one of their columns", "leave `y` out, and name the target in the schema")
            self._set_features(stated, None)
            return stated, os.fspath(X)
        if is_lazy(X):
            raise DataError("a lazy table has no rows yet", "give `table.collect()`")
        target = self._kind != "nothing"
        if target and y is None and stated is not None and is_frame(X):
            check_columns(X, column_names(X), [cast(str, stated.target)], " as target")
        if target and y is None and not (stated is not None and is_frame(X) and stated.target in column_names(X)):
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None; a table with the target of the schema needs none"
            )
        if stated is not None:
            self._set_features(stated, None)
            unit = getattr(self, "privacy_unit", None) or stated.privacy_unit
            needed = [*stated.features, *([] if unit is None else [str(unit)])]
            if is_frame(X):
                data = table(X, needed if stated.target is None else [*needed, stated.target])
                check_columns(X, data.names, stated.features)
                check_columns(X, data.names, needed, " as privacy unit")
                self._check_dates(X, stated)
            else:
                data = self._of_matrix(matrix(X, self._may_be_empty()), stated.features)
            schema = stated
        else:
            schema, data = self._unstated(X, y)
        unit = schema.privacy_unit or self.get_params(deep=False)["privacy_unit"]
        if self.adjacency == "replace-one" and unit is None and data.rows < 2:
            raise ValueError(f"Found array with {data.rows} sample(s) while a minimum of 2 is required: one record alone cannot be hidden")
        if not target or y is None:
            return schema, data
        return schema, data.with_column(str(schema.target), self._target_column(schema, target_vector(y), data.rows))

    def _may_be_empty(self) -> bool:
        """Whether there are any records is private under add-remove adjacency: no error may depend on it."""
        return self.adjacency == "add-remove"

    @staticmethod
    def _check_dates(X: Records, schema: Schema) -> None:
        numeric = [item["name"] for item in schema.columns["features"] if item["kind"] == "numeric"]
        for name in date_columns(X, numeric):
            warnings.warn(
                f"column {name!r} has dates where the schema has numbers: all of its values count as missing. Count days or years from a public date instead.",
                ModelWarning,
                stacklevel=5,
            )

    def _of_matrix(self, values: Array, names: Sequence[str]) -> Any:
        if values.shape[1] != len(names):
            raise ValueError(f"X has {values.shape[1]} features, but {type(self).__name__} is expecting {len(names)} features as input")
        return matrix_table(values, names)

    def _stated(self) -> Schema | None:
        """The schema that was given, with the privacy unit that was given."""
        schema = self.schema
        if schema is None:
            return None
        if not isinstance(schema, Schema):
            raise SchemaError("`schema` is no schema", "make one with Schema.of, Schema.load, or Schema(text)")
        if self.bounds is not None:
            raise SettingsError("both `schema` and `bounds` are given", "the schema states the bounds: leave `bounds` out")
        if self._kind != "nothing" and schema.target is None:
            raise SchemaError("the schema has no target", "name what is predicted: Schema.of({...}, target=(name, ...))")
        return schema

    def _unstated(self, X: Records, y: Any) -> tuple[Schema, Any]:
        """A schema from what is stated about columns, and their names and types."""
        if is_frame(X):
            names, data = column_names(X), table(X)
        else:
            values = matrix(X, self._may_be_empty())
            names = [f"x{place}" for place in range(values.shape[1])]
            data = matrix_table(values, names)
        self._check_names(X, names)
        if data.rows == 0 and not self._may_be_empty():
            raise ValueError(f"Found array with 0 sample(s) (shape=(0, {len(names)})) while a minimum of 1 is required.")
        if self.bounds is None and self.assume_public:
            assumed = Schema.assuming_public(data).columns
            features = {item["name"]: self._assumed(item) for item in assumed["features"]}
        else:
            features = self._stated_features(names)
        target = self._target_facts(y) if self._kind != "nothing" else None
        name = TARGET
        while name in names:
            name += "_"
        schema = Schema.of(features, None if target is None else (name, target))
        return schema, data

    @staticmethod
    def _assumed(item: Mapping[str, Any]) -> Any:
        """What was read from the data about a column."""
        if item["kind"] == "numeric":
            return {"kind": "numeric", "bounds": item["bounds"], "origin": "assumed-public"}
        if item["kind"] == "boolean":
            return bool
        return {"kind": "categorical", "levels": item["levels"], "origin": "assumed-public"}

    def _stated_features(self, names: Sequence[str]) -> dict[str, Any]:
        given = self.bounds
        if given is None:
            raise SchemaError(
                "bounds are public facts that only you can know",
                "give bounds=(low, high), one pair for each column, a dict by name, or a schema; assume_public=True reads them from the data without protection",
            )
        if isinstance(given, Mapping):
            unknown = [str(name) for name in given if str(name) not in names]
            if unknown:
                raise SchemaError(f"there is no column {unknown[0]!r}", "name columns of the table")
            return {str(name): facts_of(str(name), fact) for name, fact in given.items()}
        pairs = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else None
        if isinstance(given, np.ndarray):
            pairs = given.tolist()
        if pairs is not None and len(pairs) == 2 and all(isinstance(end, numbers.Real) for end in pairs):
            return {name: bounds(float(pairs[0]), float(pairs[1])) for name in names}
        if pairs is None or len(pairs) != len(names):
            count = "one pair" if pairs is None else f"{len(pairs)}"
            raise SchemaError(f"there are {len(names)} columns and {count} bounds", "give one (low, high) for all columns, or one for each")
        return {name: facts_of(name, tuple(pair) if isinstance(pair, list) else pair) for name, pair in zip(names, pairs)}

    def _check_names(self, X: Records, names: Sequence[str]) -> None:
        """Remembers the names of columns, as scikit-learn does."""
        for attribute in ("feature_names_in_", "n_features_in_"):
            if hasattr(self, attribute):
                delattr(self, attribute)
        if not isinstance(X, Mapping):
            with contextlib.suppress(Exception):
                validate_data(self, X, skip_check_array=True)
        self.n_features_in_ = len(names)

    def _set_features(self, schema: Schema, _records: None) -> None:
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.n_features_in_ = len(schema.features)

    def _features(self, X: Records) -> Any:
        check_is_fitted(self, "model_")
        if is_path(X):
            raise SettingsError("files are predicted by the command line", "read it into a table, or use `reticent predict`")
        if self.schema is None and hasattr(self, "n_features_in_") and not isinstance(X, Mapping):
            if not is_frame(X):
                X = matrix(X)
            validate_data(self, X, reset=False, skip_check_array=True)
        if is_frame(X):
            data = table(X, self.schema_.features)
            check_columns(X, data.names, self.schema_.features)
            return data
        values = matrix(X)
        names = list(self.feature_names_in_) if hasattr(self, "feature_names_in_") else None
        if names is not None and len(names) == values.shape[1]:
            return matrix_table(values, [str(name) for name in names])
        return self._of_matrix(values, self.schema_.features)

    def _target_facts(self, y: Any) -> Any:
        raise NotImplementedError

    def _target_column(self, schema: Schema, y: Any, rows: int) -> Any:
        raise NotImplementedError

    # -------------------------------------------------------------- options

    def _options(self) -> dict[str, Any]:
        """The options of the native fit."""
        options: dict[str, Any] = {}
        if self.epsilon is None:
            options["without_privacy"] = True
        else:
            options.update(epsilon=_real(self.epsilon, "epsilon"), delta=_real(self.delta, "delta"))
        if self.adjacency not in ("replace-one", "add-remove"):
            raise SettingsError("`adjacency` is replace-one or add-remove", "choose one of them")
        options["adjacency"] = self.adjacency
        given = self.get_params(deep=False)
        for name in ("records", "memory", "rows_per_unit"):
            if given[name] is not None:
                options[name] = _whole(given[name], name)
        for name in ("bounds_share", "holdout"):
            if given[name] is not None:
                options[name] = _real(given[name], name)
        for name in ("allow_large", "allow_large_delta", "overwrite"):
            options[name] = bool(given[name])
        unit = given["privacy_unit"]
        if unit is None and given["rows_per_unit"] is not None and self.schema is not None:
            unit = self.schema.privacy_unit
        if unit is not None:
            options["privacy_unit"] = str(unit)
        if given["out"] is not None:
            options["out"] = os.fspath(given["out"])
        session = given["session"]
        if session is not None:
            if not isinstance(session, Session):
                raise SettingsError("`session` is no session", "open one with Session(ledger, data_set)")
            options["ledger"] = [os.fspath(session.ledger), session.data_set]
        plan = given["use_plan"]
        if isinstance(plan, Plan):
            plan = plan["plan"]
        elif is_path(plan):
            try:
                plan = json.loads(read_file(os.fspath(plan)))
            except ValueError:
                plan = {}
        if plan is not None:
            if not isinstance(plan, Mapping):
                raise SettingsError("`use_plan` is no plan", "give what `plan` made, or the file that it was saved to")
            options["plan"] = dict(plan)
        settings = {}
        for setting in self._declared["settings"]:
            value = given[parameter_name(setting["name"])]
            if value is not None:
                settings[setting["name"]] = _setting(value, setting)
        options["settings"] = settings
        return options

    @public
    def plan(self, records: int, *, schema: Schema | None = None, forecast: int = 0, seed: int = 0) -> Plan:
        """What the fit would release, cost and achieve. No record is read, so a plan is public.

        Parameters
        ----------
        records
            The public number of records, or a guess of it.
        schema
            What is publicly known about the columns, if the estimator has none.
        forecast
            Number of data sets to simulate, for the expected widths of intervals; 0 for none.
        seed
            A public seed for them.
        """
        stated = schema if schema is not None else self._stated()
        if stated is None:
            raise SchemaError("a plan needs a schema", "give the estimator a `schema`, or plan(records, schema=...)")
        options = {name: value for name, value in self._options().items() if name not in ("ledger", "out", "overwrite", "holdout", "records")}
        if not isinstance(records, numbers.Integral):
            raise SettingsError("a plan needs the public number of records, and no table", "give a number, such as plan(records=4000)")
        arguments = (self._declared["name"], stated._core, _whole(records, "records"), json.dumps(options))
        content = json.loads(_core.plan(*arguments))
        expected = json.loads(_core.forecast(*arguments, int(forecast), int(seed))) if forecast else None
        return Plan(content, expected)

    # -------------------------------------------------------------- results

    def _fitted(self) -> Model:
        check_is_fitted(self, "model_")
        return self.model_

    def summary(self) -> Summary:
        """The posterior of each parameter, in the units of the schema."""
        return self._fitted().summary()

    @public
    def posterior(self, draws: int = 1000, seed: int = 0, *, X: Records = None) -> Any:
        """Draws as an ArviZ DataTree: see `Model.posterior`."""
        return self._fitted().posterior(draws, seed, X=None if X is None else self._features(X))

    def report(self) -> Report:
        """One HTML page about the fit, which shows in a notebook."""
        return self._fitted().report(self.session)

    def simulate(self, records: int, seed: int = 0) -> Any:
        """Simulated records: see `Model.simulate`."""
        return self._fitted().simulate(records, seed)

    def effects(self) -> dict[str, Any] | None:
        """How the prediction changes along each column: see `Model.effects`."""
        return self._fitted().effects()

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the model to a file that is not there yet."""
        self._fitted().save(file)

    @public
    def evaluate(self, X: Records, y: Any = None, **options: Any) -> Evaluation | dict[str, Any]:
        """Compare predictions with the targets of test records, with privacy if an `epsilon` is given: see `Model.evaluate`."""
        model = self._fitted()
        data = X if is_path(X) else self._features_and_target(X, y)
        return model.evaluate(data, **options)

    def _features_and_target(self, X: Records, y: Any) -> Any:
        schema = self.schema_
        needed = [*schema.features, *(name for name in (schema.target, schema.privacy_unit) if name is not None)]
        data = table(X, needed) if is_frame(X) else self._of_matrix(matrix(X), schema.features)
        if is_frame(X):
            check_columns(X, data.names, [name for name in needed if y is None or name != schema.target])
        if y is None or schema.target is None:
            return data
        return data.with_column(schema.target, self._target_column(schema, target_vector(y), data.rows))

    def _columns(self, X: Records, quantiles: Sequence[float] = ()) -> dict[str, Array]:
        names, arrays = self._fitted()._core.predict(self._features(X), [float(quantile) for quantile in quantiles])
        return dict(zip(names, arrays))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        # Missing values and texts are what a schema is for.
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.sparse = False
        tags.target_tags.required = self._kind != "nothing"
        return tags

    def _repr_html_(self) -> str:
        if hasattr(self, "model_"):
            return self.summary()._repr_html_() + self.receipt_._repr_html_()
        return f"<pre>{self!r}</pre>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


class PrivateRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """Estimators of a numeric target."""

    _kind = "number"

    @public
    def predict(self, X: Records, return_std: bool = False) -> Array | tuple[Array, Array]:
        """The expected target of each record; with its predictive standard deviation if `return_std`."""
        columns = self._columns(X)
        return (columns["mean"], columns["sd"]) if return_std else columns["mean"]

    @public
    def predict_interval(self, X: Records, level: float = 0.95) -> Array:
        """Predictive intervals: a row with lower and upper end for each record. They include the privacy noise."""
        ends = _ends(level)
        columns = self._columns(X, ends)
        return np.column_stack(list(columns.values())[2:4])

    def _target_facts(self, y: Any) -> Any:
        given = getattr(self, "target_bounds", None)
        if given is not None:
            return facts_of(TARGET, tuple(given) if isinstance(given, (list, np.ndarray)) else given)
        if not self.assume_public:
            raise SchemaError(
                "the bounds of the target are a public fact that only you can know",
                "give target_bounds=(low, high), or a schema; assume_public=True reads them from the data without protection",
            )
        one = _core.Table.from_columns([(TARGET, column(target_vector(y)))])
        return self._assumed(Schema.assuming_public(one).columns["features"][0])

    def _target_column(self, schema: Schema, y: Any, rows: int) -> Any:
        made = column(y)
        if len(made) != rows:
            raise ValueError(_LENGTHS)
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Noise: ten records are no table that anything can be learnt from privately.
        tags.regressor_tags.poor_score = True
        return tags


class PrivateClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """Estimators of a target of classes."""

    _kind = "two-classes"

    @public
    def predict(self, X: Records) -> Array:
        """The most probable class of each record."""
        probabilities = self._probabilities(X)
        return cast(Array, self.classes_[np.argmax(probabilities, axis=1)])

    @public
    def predict_proba(self, X: Records) -> Array:
        """The probability of each class, in the order of ``classes_``."""
        return self._probabilities(X)

    @public
    def predict_log_proba(self, X: Records) -> Array:
        """The logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._probabilities(X)))

    @public
    def predict_interval(self, X: Records, level: float = 0.95) -> Array:
        """Credible intervals of the probability of the positive class, the second of ``classes_``: a row for each record."""
        columns = self._columns(X, _ends(level))
        return np.column_stack(list(columns.values())[-2:])

    @public
    def decision_function(self, X: Records) -> Array:
        """The log odds of the positive class."""
        probabilities = self._probabilities(X)
        if probabilities.shape[1] != 2:
            return np.asarray(np.log(np.clip(probabilities, 1e-300, None)))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(probabilities[:, 1]) - np.log(probabilities[:, 0]))

    def _probabilities(self, X: Records) -> Array:
        columns = self._columns(X)
        return np.column_stack([columns[f"probability_{level}"] for level in self._levels])

    def _target_facts(self, y: Any) -> Any:
        given = getattr(self, "classes", None)
        if given is None:
            if not self.assume_public:
                raise SchemaError(
                    "the classes of the target are a public fact that only you can know: a rare one is a secret",
                    "give classes=[negative, positive], or a schema; assume_public=True reads them from the data without protection",
                )
            from sklearn.utils.multiclass import check_classification_targets, type_of_target

            labels = np.asarray(target_vector(y))
            check_classification_targets(labels)
            self.classes_ = np.unique(labels)
            if len(self.classes_) > 2 and "classes" not in self._declared["targets"]:
                raise ValueError(f"Only binary classification is supported. The type of the target is {type_of_target(labels)}.")
        else:
            self.classes_ = _classes(list(given))
        if len(self.classes_) < 2:
            raise ValueError(f"{type(self).__name__} can't train when only one class is present: it needs two classes, got one class")
        self._levels = level_texts(list(self.classes_))
        facts = levels(self._levels)
        return facts if given is not None else {**facts, "origin": "assumed-public"}

    def _target_column(self, schema: Schema, y: Any, rows: int) -> Any:
        classes = self.classes_ if self.schema is None else self._levels
        found = codes(y, list(classes))
        if len(found) != rows:
            raise ValueError(_LENGTHS)
        return found, list(self._levels)

    def _stated(self) -> Schema | None:
        schema = super()._stated()
        if schema is None:
            return None
        target = schema.columns["target"]
        if target["kind"] == "numeric":
            raise SchemaError("the target of the schema is a number", "choose a model of a number, or state the classes of the target")
        self._levels = list(target["levels"])
        given = getattr(self, "classes", None)
        texts = {"false": False, "true": True} if target["kind"] == "boolean" else {level: level for level in self._levels}
        self.classes_ = _classes([texts[level] for level in self._levels])
        if given is not None:
            if sorted(level_texts(list(given))) != sorted(self._levels):
                raise SchemaError("`classes` are not those of the schema", "leave `classes` out: the schema states them")
            named = dict(zip(level_texts(list(given)), given))
            self.classes_ = _classes([named[level] for level in self._levels])
        return schema

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        tags.classifier_tags.multi_class = "classes" in self._declared["targets"]
        return tags


class PrivateDensity(DensityMixin, PrivateEstimator):  # type: ignore[misc]
    """Estimators without a target."""

    _kind = "nothing"

    @public
    def score_samples(self, X: Records) -> Array:
        """The logarithm of the density of each record, or a lower bound on it."""
        return next(iter(self._columns(X).values()))

    @public
    def score(self, X: Records, y: Any = None) -> float:
        """**Not private**: the mean of `score_samples`, an exact statistic of these records."""
        return float(np.mean(next(iter(self._columns(X).values()))))

    def _target_facts(self, y: Any) -> Any:
        return None


class PrivateComponents(PrivateDensity):
    """Estimators without a target, of records that belong to components or have shares of topics."""

    def _parts(self, X: Records) -> Array:
        names = ("probability_component_", "share_topic_", "probability_")
        columns = self._columns(X)
        prefix = next(prefix for prefix in names if any(name.startswith(prefix) for name in columns))
        return np.column_stack([values for name, values in columns.items() if name.startswith(prefix)])

    @public
    def predict_proba(self, X: Records) -> Array:
        """How probable each component is for each record, the expected share of each topic, or the probability of a one for each input."""
        return self._parts(X)

    @public
    def predict(self, X: Records) -> Array:
        """The number of the largest of `predict_proba`, from 0: the component or the topic of each record."""
        return cast(Array, np.argmax(self._parts(X), axis=1))


def _classes(given: list[Any]) -> Array:
    """Classes as an array of their type, or of objects if they are of several."""
    return np.asarray(given, dtype=None if len({type(item) for item in given}) == 1 else object)


def parameter_name(setting: str) -> str:
    """A setting of a model as a parameter of Python."""
    name = setting.replace("-", "_")
    # A method must not be hidden by a parameter of its name.
    taken = keyword.iskeyword(name) or name in COMMON or hasattr(PrivateClassifier, name) or hasattr(PrivateRegressor, name) or hasattr(PrivateComponents, name)
    return f"{name}_setting" if taken else name


def _real(value: Any, name: str) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise SettingsError(f"`{name}` is not a finite number", "give a number")
    return float(value)


def _whole(value: Any, name: str) -> int:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral) or not 0 <= int(value) < 2**53:
        raise SettingsError(f"`{name}` is not an integer of at least 0", "give an integer")
    return int(value)


def _setting(value: Any, setting: Mapping[str, Any]) -> Any:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, numbers.Integral) and int(value) >= 0:
        return int(value)
    if isinstance(value, numbers.Real):
        return _real(value, setting["name"])
    if isinstance(value, str):
        return value
    raise SettingsError(f"`{parameter_name(setting['name'])}` is {setting['range']}", "give such a value")


def _ends(level: float) -> tuple[float, float]:
    level = _real(level, "level")
    if not 0.0 < level < 1.0:
        raise SettingsError("`level` is above 0 and below 1", "give one such as 0.95")
    return 0.5 - level / 2, 0.5 + level / 2


__all__ = ["NotFittedError", "PrivateClassifier", "PrivateComponents", "PrivateDensity", "PrivateEstimator", "PrivateRegressor"]
