"""Nothing of a record is in an exception, a representation or a log; and no random call crashes."""

from __future__ import annotations

import io
import logging
import os
import sys
import traceback
import warnings
from types import TracebackType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reticent as rt
from conftest import ward
from reticent.models import ESTIMATORS

SECRET = "xq-secret-of-one-patient"

#: How many random calls are made: 10,000 in a long run.
CALLS = int(os.environ.get("RETICENT_CALLS", "400"))


def frames(trace: TracebackType | None) -> list[dict[str, Any]]:
    """The variables of all frames of a traceback below the test itself."""
    found = []
    while trace is not None:
        if "site-packages/pytest" not in trace.tb_frame.f_code.co_filename:
            found.append(dict(trace.tb_frame.f_locals))
        trace = trace.tb_next
    return found


def raised(call: Any) -> BaseException | None:
    """What a call raises."""
    try:
        call()
    except BaseException as error:
        return error
    return None


def holds_records(value: Any, depth: int = 3) -> bool:
    """Whether a variable holds an array, a table or the secret."""
    if isinstance(value, np.ndarray) or hasattr(value, "iloc") or hasattr(value, "__arrow_c_stream__"):
        return True
    if isinstance(value, str):
        return SECRET in value
    if depth and isinstance(value, dict):
        return any(holds_records(item, depth - 1) for item in value.values())
    if depth and isinstance(value, (list, tuple)):
        return any(holds_records(item, depth - 1) for item in value)
    return False


def test_tracebacks_hold_no_records(stays: rt.Schema, tmp_path: Any) -> None:
    columns = ward(300)
    columns["unit"] = np.where(np.arange(300) == 7, SECRET, columns["unit"].astype(object))
    logistic = ESTIMATORS["PrivateLogisticRegression"]
    session = rt.Session.create(tmp_path / "b.ledger", "small", epsilon=0.01, delta=1e-6)
    linear = ESTIMATORS["PrivateLinearRegression"]
    fitted = logistic(schema=stays).fit(columns)
    matrix = np.array([[SECRET, 1.0]] * 20, dtype=object)
    calls = [
        lambda: logistic(schema=stays, session=session).fit(columns),
        lambda: logistic(schema=stays, prior_variance=-1.0).fit(columns),
        lambda: logistic(schema=stays).fit(columns, columns["stays"][:10]),
        lambda: logistic(schema=stays).fit({name: values for name, values in columns.items() if name != "unit"}),
        lambda: logistic(schema=stays).fit({**columns, "age": columns["age"][:10]}),
        lambda: logistic().fit(matrix, [0, 1] * 10),
        lambda: linear(assume_public=True).fit(matrix, matrix[:, 0]),
        lambda: fitted.predict_proba(matrix),
        lambda: fitted.predict_interval(columns, level=7),
        lambda: fitted.evaluate(columns, epsilon=-1.0),
        lambda: fitted.posterior(X={"age": columns["age"]}),
    ]
    for number, call in enumerate(calls):
        error = raised(call)
        assert isinstance(error, Exception), number
        assert error.__cause__ is None and error.__context__ is None, number
        # The first two frames are `raised` and the lambda of this test; the rest are of the package.
        inner = frames(error.__traceback__)[2:]
        assert inner, number
        for variables in inner:
            assert not any(holds_records(value) for value in variables.values()), (number, list(variables))
        text = "".join(traceback.format_exception_only(type(error), error)) + repr(error) + str(error.args)
        assert SECRET not in text, number


class Hostile:
    """An object whose every use fails with the secret."""

    def _fail(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError(SECRET)

    __array__ = __float__ = __int__ = __str__ = __repr__ = __len__ = __iter__ = __getitem__ = __bool__ = _fail


def test_objects_that_fail_are_missing_values(stays: rt.Schema, capfd: pytest.CaptureFixture[str]) -> None:
    columns = {name: list(values) for name, values in ward(300).items()}
    for name in columns:
        columns[name][5] = Hostile()
    records = io.StringIO()
    handler = logging.StreamHandler(records)
    logging.getLogger().addHandler(handler)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ESTIMATORS["PrivateLogisticRegression"](schema=stays).fit(columns)
    logging.getLogger().removeHandler(handler)
    shown = capfd.readouterr()
    everything = records.getvalue() + shown.out + shown.err + "".join(str(warning.message) for warning in caught)
    assert SECRET not in everything


def test_representations_hold_no_records(stays: rt.Schema) -> None:
    columns = ward(1000)
    columns["unit"] = np.where(np.arange(1000) == 7, SECRET, columns["unit"].astype(object))
    model = ESTIMATORS["PrivateLogisticRegression"](schema=stays).fit(columns)
    shown = [repr(model), str(model.model_), model._repr_html_(), str(model.receipt_), model.report().html, str(model.summary())]
    assert not any(SECRET in text for text in shown)


def test_whether_there_are_records_is_private_under_add_remove(stays: rt.Schema) -> None:
    """One record more or less changes no exception, whatever the library."""
    columns = ward(1)
    linear = ESTIMATORS["PrivateNaiveBayes"]
    for rows in (0, 1, 2):
        some = {name: np.resize(values, rows) for name, values in columns.items()}
        model = linear(epsilon=1, schema=stays, adjacency="add-remove", records=1000).fit(some)
        assert model.receipt_["records"] == 1000
        X = np.zeros((rows, 2))
        linear(epsilon=1, bounds=(-1, 1), classes=[0, 1], adjacency="add-remove", records=1000).fit(X, np.zeros(rows))


# Random calls.

numbers = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.just([]), st.just({}), st.complex_numbers(), st.binary(max_size=3)
)
dtypes = st.sampled_from(["f8", "f4", "f2", "i8", "i4", "u1", "?", "c16", "O", "U3", "S3", "M8[D]", "m8[s]", "V4", ">f8"])


@st.composite
def arrays(draw: Any) -> Any:
    """Arrays of any shape and type."""
    shape = draw(st.lists(st.integers(0, 5), min_size=0, max_size=3))
    made = np.zeros(shape, dtype=draw(dtypes))
    if made.dtype.kind == "f" and made.size:
        made.ravel()[0] = draw(st.sampled_from([np.nan, np.inf, -np.inf, 0.0]))
    return made


@st.composite
def frames_of_anything(draw: Any) -> Any:
    """Tables with odd names, types and lengths."""
    names = draw(st.lists(st.sampled_from(["age", "smoker", "unit", "stays", "", "a b", "é", "\x00"]), max_size=5, unique=True))
    length = draw(st.integers(0, 4))
    columns = {name: draw(st.lists(numbers, min_size=length, max_size=length)) for name in names}
    kind = draw(st.sampled_from(["mapping", "pandas", "polars", "pyarrow"]))
    try:
        if kind == "pandas":
            return __import__("pandas").DataFrame(columns)
        if kind == "polars":
            return __import__("polars").DataFrame(columns, strict=False)
        if kind == "pyarrow":
            return __import__("pyarrow").table(columns)
    except Exception:
        return columns
    return columns


records = st.one_of(arrays(), frames_of_anything(), numbers, st.just("/no/such/file.csv"), st.lists(numbers, max_size=4))
parameters = st.dictionaries(
    st.sampled_from(["epsilon", "delta", "adjacency", "records", "bounds", "classes", "privacy_unit", "rows_per_unit", "memory", "use_plan", "holdout", "session", "bounds_share", "prior_variance", "progress"]),
    numbers,
    max_size=3,
)
CLEAR = (rt.ReticentError, ValueError, TypeError)


@settings(max_examples=CALLS, deadline=None, suppress_health_check=list(HealthCheck))
@given(records, records, parameters, st.booleans(), st.booleans())
def test_random_calls_end_in_clear_exceptions(X: Any, y: Any, chosen: dict[str, Any], with_schema: bool, assume: bool) -> None:
    schema = rt.Schema.of({"age": (18, 95), "smoker": bool}, target=("stays", bool))
    given_ = {**chosen, "assume_public": assume, "progress": False}
    given_.setdefault("classes", None if with_schema else [0, 1])
    if with_schema:
        given_.update(schema=schema, bounds=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        error = raised(lambda: ESTIMATORS["PrivateLogisticRegression"](**given_).fit(X, y).predict_proba(X))
    assert error is None or isinstance(error, CLEAR), repr(error)
    assert error is None or str(error).strip(), repr(error)


@settings(max_examples=CALLS // 4, deadline=None, suppress_health_check=list(HealthCheck))
@given(records, st.one_of(numbers, st.floats(0, 1)), numbers)
def test_random_calls_of_a_fitted_model_end_in_clear_exceptions(X: Any, level: Any, seed: Any) -> None:
    model = _model()
    for call in (
        lambda: model.predict(X),
        lambda: model.predict_interval(X, level),
        lambda: model.simulate(level, seed),
        lambda: model.model_.draws(seed, level),
        lambda: model.evaluate(X),
        lambda: rt.Schema.of(X),
        lambda: rt.bounds(X, level),
        lambda: rt.load(X),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            error = raised(call)
        assert error is None or isinstance(error, (*CLEAR, OSError)), repr(error)


_cache: list[Any] = []


def _model() -> Any:
    if not _cache:
        schema = rt.Schema.of({"age": (18, 95), "smoker": bool}, target=("stays", bool))
        _cache.append(ESTIMATORS["PrivateNaiveBayes"](schema=schema).fit(ward(500)))
    return _cache[0]


def test_nothing_is_imported_that_is_not_needed() -> None:
    import subprocess

    code = "import sys, reticent; print([name for name in ('sklearn', 'pandas', 'pyarrow', 'polars', 'matplotlib', 'arviz') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
