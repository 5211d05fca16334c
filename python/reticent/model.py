"""A fitted model: a posterior that may be published, with its receipt."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from . import _core
from ._errors import FileError, SettingsError, public, read_file
from ._tables import Records, check_columns, is_frame, is_path, matrix, matrix_table, table
from .results import Evaluation, Receipt, Report, Summary
from .schema import Schema
from .session import Session

__all__ = ["Model", "compare", "load"]

Array = np.ndarray[Any, Any]


class Model:
    """A fitted model, as a model file has it: schema, posterior, plan and receipt. It holds no record.

    Estimators have one as ``model_``; `load` reads one from a file. Pickles hold the same as the file.
    """

    def __init__(self, core: Any) -> None:
        self._core = core

    @property
    def name(self) -> str:
        """The name of the model, such as ``logistic``."""
        return cast(str, self._core.name)

    @property
    def schema(self) -> Schema:
        """How records are read."""
        return Schema._of(self._core.schema)

    @property
    def receipt(self) -> Receipt:
        """What was spent, on what, and under which assumptions."""
        return Receipt(json.loads(self._core.receipt), self._core.receipt_text)

    @property
    def card(self) -> dict[str, Any]:
        """What the model is for, what was asked for, and what a reader must know."""
        return cast("dict[str, Any]", json.loads(self._core.card))

    @property
    def plan(self) -> dict[str, Any]:
        """The plan of the fit, as an estimator takes it."""
        return cast("dict[str, Any]", json.loads(self._core.plan))

    @property
    def warnings(self) -> list[str]:
        """What a reader must know before relying on the model."""
        return list(self.card.get("warnings", []))

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the model to a file that is not there yet. Its owner alone may read it; to publish it, change that."""
        path = os.path.abspath(os.fspath(file))
        failure: str | None = None
        try:
            handle, part = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".reticent-")
            try:
                with os.fdopen(handle, "wb") as out:
                    out.write(self._core.to_bytes())
                    out.flush()
                    os.fsync(out.fileno())
                os.link(part, path)
            finally:
                os.unlink(part)
        except OSError as error:
            failure = error.strerror or "it cannot be written"
        if failure is not None:
            raise FileError(f"{path} cannot be written: {failure}", "choose a path that you may write to, of no other file")

    def summary(self) -> Summary:
        """The posterior of each parameter, in the units of the schema."""
        # The receipt has a place of its own here, and the command line another way to fit.
        lines = self._core.text().partition("\nReceipt\n")[0].splitlines()
        text = "\n".join(line for line in lines if not line.startswith("reticent fit ")) + "\n"
        return Summary(json.loads(self._core.summary()), self._core.sentence(), text)

    def report(self, session: Session | None = None) -> Report:
        """One HTML page about the model: effects, parameters, cost and assumptions. It is as public as the model.

        With the session that the fit was charged to, it states what remains of the budget.
        """
        return Report(self._core.html(None if session is None else os.fspath(session.ledger)))

    def draws(self, draws: int = 1000, seed: int = 0) -> dict[str, Array]:
        """Joint draws from the posterior of the named parameters: an array for each variable, whose first axis is the draws.

        Draws are post-processing of what was released, so the seed is public.
        """
        values = self._core.draws(_count(draws, "draws"), _seed(seed))
        return {name: values[:, places].reshape(len(values), *shape) for name, (places, shape, _) in self._variables().items()}

    def coords(self) -> dict[str, list[str]]:
        """The labels of each dimension of the variables."""
        return {dim: labels for _, _, dims in self._variables().values() for dim, labels in dims.items()}

    def dims(self) -> dict[str, list[str]]:
        """The names of the dimensions of each variable."""
        return {name: list(dims) for name, (_, _, dims) in self._variables().items()}

    def _variables(self) -> dict[str, tuple[list[int], tuple[int, ...], dict[str, list[str]]]]:
        """Of each variable the places of its elements among all parameters, its shape, and the labels of its dimensions."""
        rows: dict[str, list[tuple[int, list[tuple[str, str]]]]] = {}
        for place, row in enumerate(json.loads(self._core.summary())):
            rows.setdefault(row["variable"], []).append((place, [(str(dim), str(label)) for dim, label in row["place"]]))
        known: dict[str, list[str]] = {}
        found: dict[str, tuple[list[int], tuple[int, ...], dict[str, list[str]]]] = {}
        for name, elements in rows.items():
            labels: dict[str, dict[str, int]] = {}
            for _, where in elements:
                for dim, label in where:
                    labels.setdefault(dim, {}).setdefault(label, len(labels[dim]))
            shape = tuple(len(places) for places in labels.values())
            flat: dict[int, int] = {}
            for place, where in elements:
                at = 0
                for size, (dim, label) in zip(shape, where):
                    at = at * size + labels[dim][label]
                flat[at] = place
            dims: dict[str, list[str]] = {}
            if len(flat) != int(np.prod(shape, dtype=int)):
                # Not all combinations are parameters, such as correlations: one dimension has their labels.
                texts = [", ".join(label for _, label in where) for _, where in elements]
                found[name] = ([place for place, _ in elements], (len(elements),), {f"{name}_place": texts})
                continue
            for dim, places in labels.items():
                names = list(places)
                # The same dimension may have other labels in another variable.
                own = dim if known.setdefault(dim, names) == names else f"{name}_{dim}"
                dims[own] = names
            found[name] = ([flat[at] for at in range(len(flat))], shape, dims)
        return found

    @public
    def posterior(self, draws: int = 1000, seed: int = 0, *, X: Records = None) -> Any:
        """Draws as an ArviZ DataTree, with the dimensions and labels of the parameters.

        Parameters
        ----------
        draws
            Number of draws.
        seed
            A public seed: draws are post-processing.
        X
            Records to predict. With them, the group ``posterior_predictive`` has draws of their targets, each from its own
            predictive distribution.

        Notes
        -----
        The group ``constant_data`` has the public bounds of the columns. Draws are independent, so there is one chain, and diagnostics of chains have nothing to find.
        """
        from arviz_base import from_dict

        variables = self.draws(draws, seed)
        coords: dict[str, Any] = dict(self.coords())
        dims = self.dims()
        content: dict[str, dict[str, Array]] = {"posterior": {name: values[None] for name, values in variables.items()}}
        columns = self.schema.columns
        bounded = [column for column in columns["features"] if column["bounds"]]
        if bounded:
            content["constant_data"] = {
                "lower_bound": np.array([column["bounds"][0] for column in bounded]),
                "upper_bound": np.array([column["bounds"][1] for column in bounded]),
            }
            coords["numeric_column"] = [column["name"] for column in bounded]
            dims.update(lower_bound=["numeric_column"], upper_bound=["numeric_column"])
        if X is not None:
            target = columns["target"]
            if target is None:
                raise SettingsError(f"a {self.name} model predicts no target", "leave `X` out; `simulate` draws records")
            predicted = self._predictive_draws(X, _count(draws, "draws"), _seed(seed))
            content["posterior_predictive"] = {target["name"]: predicted[None]}
            coords["record"] = np.arange(predicted.shape[1])
            dims[target["name"]] = ["record"]
        guarantee = self.receipt["guarantee"]
        attrs = {"inference_library": "reticent", "model": self.name, "guarantee": guarantee if isinstance(guarantee, str) else json.dumps(guarantee)}
        return from_dict(content, coords=coords, dims=dims, attrs={"posterior": attrs})

    def _predictive_draws(self, records: Records, draws: int, seed: int) -> Array:
        """Draws of the targets of records: independent between records, each from its predictive distribution."""
        random = np.random.default_rng(seed)
        columns = self.predict(records)
        if "mean" in columns:
            # Quantiles at equally probable points are a sample of the distribution, in an order that is drawn for each record.
            points = (np.arange(draws) + 0.5) / draws
            drawn = self.predict(records, quantiles=list(points))
            values = np.stack([drawn[f"q{_written(point)}"] for point in points])
            return np.asarray(random.permuted(values, axis=0))
        levels = self.schema.columns["target"]["levels"]
        probabilities = np.stack([columns[f"probability_{level}"] for level in levels])
        uniform = random.random((draws, probabilities.shape[1]))
        return np.asarray((uniform[None] > np.cumsum(probabilities, axis=0)[:-1, None]).sum(axis=0))

    @public
    def predict(self, X: Records, *, quantiles: Sequence[float] = (0.05, 0.25, 0.5, 0.75, 0.95)) -> dict[str, Array]:
        """Predictions for the rows of a table, in the target's own units: an array for each column of ``reticent predict``.

        Quantiles are those of the target if it is a number, and of the probability of the positive class if it has two.
        """
        found = self._features(X)
        names, arrays = self._core.predict(found, [float(quantile) for quantile in quantiles])
        return dict(zip(names, arrays))

    def _features(self, records: Records) -> Any:
        """The features of records. A matrix has the columns of the schema, in their order."""
        features = self.schema.features
        if is_path(records):
            raise SettingsError("a file is predicted by the command line", "read it into a table, or use `reticent predict`")
        if is_frame(records):
            found = table(records, features)
            check_columns(records, found.names, features)
            return found
        values = matrix(records)
        if values.shape[1] != len(features):
            raise ValueError(f"X has {values.shape[1]} features, but the model is expecting {len(features)} features as input")
        return matrix_table(values, features)

    def simulate(self, records: int, seed: int = 0) -> Any:
        """Simulated records: draws from the posterior predictive distribution, as an object with the Arrow PyCapsule interface.

        ``polars.DataFrame(model.simulate(1000))``, ``pyarrow.table(...)`` and ``pandas.DataFrame.from_arrow(...)`` read it. They have the structure of the model and
        nothing else. They are post-processing of what was released, so the seed is public.
        """
        return self._core.simulate(_count(records, "records"), _seed(seed))

    def effects(self) -> dict[str, Any] | None:
        """How the prediction changes along each column, against a reference, with 95 % intervals; none for models without a target."""
        return cast("dict[str, Any] | None", json.loads(self._core.effects()))

    @public
    def evaluate(
        self,
        records: Records,
        *,
        epsilon: float | None = None,
        delta: float = 1e-6,
        adjacency: str = "replace-one",
        session: Session | None = None,
        number: int | None = None,
    ) -> Evaluation | dict[str, Any]:
        """Compare predictions with the targets of test records, whose table has the target too.

        Parameters
        ----------
        records
            A table, or the path of a file.
        epsilon, delta
            What to spend on the test records: scores are then released with noise and intervals. **Without an epsilon the scores are not private**: exact
            statistics of the test records.
        adjacency
            Which sets of test records are neighbours.
        session
            The data set of the test records in a ledger.
        number
            About how many test records there are: a public guess, for add-remove adjacency.
        """
        data = os.fspath(records) if is_path(records) else table(records)
        if not isinstance(data, str):
            schema = self.schema
            check_columns(records, data.names, [name for name in (*schema.features, schema.target, schema.privacy_unit) if name is not None])
        if epsilon is None:
            return cast("dict[str, Any]", json.loads(self._core.evaluate(data)))
        options = {"epsilon": float(epsilon), "delta": float(delta), "adjacency": adjacency, "records": number}
        if session is not None:
            options["ledger"] = [os.fspath(session.ledger), session.data_set]
        done = json.loads(_core.evaluate([self._core], [self.name], data, json.dumps(options)))
        return Evaluation(done["evaluation"], done["text"])

    def __repr__(self) -> str:
        return cast(str, self._core.sentence())

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return _from_bytes, (self._core.to_bytes(),)


def _from_bytes(content: bytes) -> Model:
    return Model(_core.Model.from_bytes(content))


def load(file: str | os.PathLike[str]) -> Model:
    """Read a model file, of this package or of the command line."""
    return _from_bytes(read_file(os.fspath(file)))


@public
def compare(models: Mapping[str, Model], records: Records) -> dict[str, Any]:
    """**Not private**: exact scores of models of the same target on the same test records, with standard errors of differences."""
    data = os.fspath(records) if is_path(records) else table(records)
    compared = cast("dict[str, Any]", json.loads(_core.compare([model._core for model in models.values()], data)))
    compared["names"] = list(models)
    return compared


def _written(number: float) -> str:
    """A probability as the native part writes it."""
    text = repr(float(number))
    return np.format_float_positional(float(number), trim="-") if "e" in text else text.removesuffix(".0")


def _count(value: Any, name: str) -> int:
    import numbers

    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or not 1 <= int(value) <= 100_000_000:
        raise SettingsError(f"`{name}` is an integer from 1 to 100,000,000", "give a number such as 1000")
    return int(value)


def _seed(value: Any) -> int:
    import numbers

    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or not 0 <= int(value) < 2**64:
        raise SettingsError("`seed` is an integer from 0 to 2^64 - 1", "a seed of draws is public: any number will do")
    return int(value)


