"""The same rows give the same fit from any library and from files, and no value is an error."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reticent as rt
from conftest import ward
from reticent.linear_model import PrivateLinearRegression, PrivateLogisticRegression


def tables(columns: dict[str, Any]) -> dict[str, Any]:
    """The same rows in every library that is installed."""
    made: dict[str, Any] = {"mapping": columns}
    try:
        import pandas

        frame = pandas.DataFrame(columns)
        made["pandas"] = frame
        made["pandas categories"] = frame.assign(unit=frame["unit"].astype("category"))
        made["pandas, wide types"] = frame.convert_dtypes()
        made["pandas, other order"] = frame[frame.columns[::-1]]
    except ImportError:
        pass
    try:
        import pyarrow

        made["pyarrow"] = pyarrow.table({name: pyarrow.array(values) for name, values in columns.items()})
        made["pyarrow batches"] = pyarrow.Table.from_batches(made["pyarrow"].to_batches(max_chunksize=700))
    except ImportError:
        pass
    try:
        import polars

        made["polars"] = polars.DataFrame(columns)
        made["polars categories"] = made["polars"].with_columns(polars.col("unit").cast(polars.Categorical))
    except ImportError:
        pass
    return made


def test_every_library_gives_the_same_fit(days: rt.Schema, tmp_path: Path) -> None:
    columns = ward(3000)
    found = {}
    for name, table in tables(columns).items():
        found[name] = PrivateLinearRegression(epsilon=None, schema=days).fit(table).coef_
        apart = PrivateLinearRegression(epsilon=None, schema=days).fit(table, columns["days"]).coef_
        np.testing.assert_allclose(apart, found[name], rtol=1e-12, err_msg=name)
    file = tmp_path / "ward.csv"
    rows = zip(*(values.tolist() for values in columns.values()))
    lines = [",".join(columns), *(",".join(str(value).lower() if isinstance(value, bool) else str(value) for value in row) for row in rows)]
    file.write_text("\n".join(lines) + "\n")
    found["csv"] = PrivateLinearRegression(epsilon=None, schema=days).fit(file).coef_
    for name, coefficients in found.items():
        np.testing.assert_allclose(coefficients, found["mapping"], rtol=1e-10, err_msg=name)


def test_matrices_of_any_layout_give_the_same_fit() -> None:
    X = np.random.default_rng(0).uniform(-1, 1, (2000, 3))
    y = X @ [1.0, -2.0, 0.5]
    model = PrivateLinearRegression(epsilon=None, bounds=(-1, 1), target_bounds=(-4, 4))
    first = model.fit(X, y).coef_
    wide = np.empty((4000, 6))
    wide[::2, ::2] = X
    for matrix in (np.asfortranarray(X), wide[::2, ::2], X.tolist(), X.astype(">f8"), np.ascontiguousarray(X)[::-1][::-1]):
        np.testing.assert_allclose(model.fit(matrix, y).coef_, first, rtol=1e-12)
    np.testing.assert_allclose(model.fit(X.astype(np.float32), y).coef_, first, rtol=1e-5)


def test_values_that_a_schema_does_not_allow_are_no_error(days: rt.Schema) -> None:
    odd: list[Any] = [None, float("nan"), float("inf"), "many", -5, 10**400, 3 + 4j, b"x", [1], {}, object(), decimal.Decimal("7"), datetime.date(2020, 1, 1), True]
    columns = {name: list(values) for name, values in ward(200).items()}
    for name in columns:
        for place, value in enumerate(odd):
            columns[name][place * 7 % 200] = value
    model = PrivateLinearRegression(epsilon=1, schema=days).fit(columns)
    assert np.isfinite(model.predict(columns)).all()
    assert len(model.predict(columns)) == 200
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns)
    assert np.isfinite(PrivateLinearRegression(epsilon=1, schema=days).fit(frame).predict(frame)).all()


def test_a_missing_target_is_a_record_that_contributes_nothing(stays: rt.Schema) -> None:
    columns = ward(2000)
    known = np.arange(2000) % 4 > 0
    answers = np.where(known, columns["stays"].astype(object), None)
    model = PrivateLogisticRegression(epsilon=None, schema=stays)
    whole = model.fit({**columns, "stays": answers}).coef_
    part = model.fit({name: values[known] for name, values in columns.items()}).coef_
    np.testing.assert_allclose(whole, part, rtol=1e-6)


def test_labels_of_any_type_are_classes() -> None:
    X = np.random.default_rng(0).uniform(-1, 1, (3000, 1))
    truth = X[:, 0] + 0.1 * np.random.default_rng(1).normal(size=3000) > 0
    for classes in ([0, 1], [False, True], ["no", "yes"], [1.5, 2.5], [-1, 1]):
        y = np.array(classes, dtype=object)[truth.astype(int)] if isinstance(classes[0], str) else np.array(classes)[truth.astype(int)]
        model = PrivateLogisticRegression(epsilon=5, bounds=(-1, 1), classes=classes).fit(X, y)
        assert np.mean(model.predict(X) == y) > 0.9, classes
        assert model.predict([[1.0]])[0] == classes[1]
        assert list(model.classes_) == classes


def test_public_facts_are_never_read_unless_that_is_said() -> None:
    X = np.random.default_rng(0).uniform(-3, 7, (500, 2))
    y = X[:, 0] > 2
    with pytest.raises(rt.SchemaError, match="bounds are public facts"):
        PrivateLogisticRegression(classes=[False, True]).fit(X, y)
    with pytest.raises(rt.SchemaError, match="classes of the target"):
        PrivateLogisticRegression(bounds=(-3, 7)).fit(X, y)
    with pytest.raises(rt.SchemaError, match="bounds of the target"):
        PrivateLinearRegression(bounds=(-3, 7)).fit(X, X[:, 0])
    model = PrivateLogisticRegression(assume_public=True).fit(X, y)
    said = "\n".join(model.receipt_.assumptions)
    assert "public" in said and "x0" in said and "y" in said
    assert "bounds were chosen without looking at the data" not in said


def test_templates_have_names_and_types_alone(patients: dict[str, Any]) -> None:
    texts = {name: rt.Schema.template(table, target="stays") for name, table in tables(patients).items() if "order" not in name}
    assert len(set(texts.values())) == 1, texts
    text = texts["mapping"]
    assert 'name = "age", kind = "numeric", bounds = []' in text
    assert not any(level in text.split("features")[1] for level in ('"A"', '"B"'))


def test_private_bounds_and_units_are_fitted(patients: dict[str, Any]) -> None:
    person = np.arange(4000) // 2
    schema = rt.Schema.of(
        {"age": rt.bounds("private", within=(0, 1000)), "smoker": bool}, target=("days", rt.bounds(0, 30)), privacy_unit="person"
    )
    model = PrivateLinearRegression(epsilon=3, delta=1e-5, schema=schema).fit({**patients, "person": person})
    assert "rows with the same person" in str(model.receipt_)
    assert model.receipt_["records"] == 2000
    low, high = next(column["bounds"] for column in model.schema_.columns["features"] if column["name"] == "age")
    assert 0 <= low < 40 and 80 < high <= 200
    twice = PrivateLinearRegression(epsilon=3, delta=1e-5, schema=schema, adjacency="add-remove", records=2000, rows_per_unit=2)
    assert twice.fit({**patients, "person": person}).receipt_["adjacency"] == "add-remove"


def test_large_tables_are_streamed(days: rt.Schema, patients: dict[str, Any]) -> None:
    kept = PrivateLinearRegression(epsilon=None, schema=days).fit(patients).coef_
    read_again = PrivateLinearRegression(epsilon=None, schema=days, memory=1000).fit(patients).coef_
    np.testing.assert_allclose(read_again, kept, rtol=1e-12)


def test_messages_name_what_is_missing(patients: dict[str, Any], stays: rt.Schema) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(patients)
    model = PrivateLogisticRegression(schema=stays, progress=False)
    with pytest.raises(rt.DataError, match=r"no column 'age'.*\n.*is it 'Age'\?"):
        model.fit(frame.rename(columns={"age": "Age"}))
    with pytest.raises(rt.DataError, match="no column 'stays', which the schema names as target"):
        model.fit(frame.drop(columns="stays"))
    with pytest.raises(rt.DataError, match="no column 'person', which the schema names as privacy unit"):
        PrivateLogisticRegression(schema=stays, privacy_unit="person").fit(frame)
    fitted = model.fit(frame)
    for call in (fitted.predict, fitted.model_.predict, fitted.evaluate):
        with pytest.raises(rt.DataError, match="no column 'unit'"):
            call(frame.drop(columns="unit"))
    with pytest.raises(rt.DataError, match="one column is not a table"):
        model.fit(frame["age"], frame["stays"])
    with pytest.raises(rt.DataError, match="'age' is one value"):
        fitted.predict({"age": 50, "smoker": True, "unit": "A"})
    with pytest.raises(rt.DataError, match="list of dicts"):
        fitted.predict([{"age": 50, "smoker": True, "unit": "A"}])
    with pytest.raises(KeyError, match=r"coefficient\[age\]"):
        fitted.summary()["age"]


def test_types_that_hold_no_numbers_are_reported(patients: dict[str, Any], stays: rt.Schema) -> None:
    model = PrivateLogisticRegression(schema=stays, progress=False)
    with pytest.warns(rt.ModelWarning, match="column 'age' has dates"):
        model.fit({**patients, "age": np.full(4000, np.datetime64("2020-01-01"))})
    with pytest.raises(rt.SchemaError, match="is a date"):
        rt.bounds(datetime.date(2020, 1, 1), datetime.date(2021, 1, 1))
    with pytest.raises(rt.SchemaError, match=r"\n.*needs public bounds"):
        rt.Schema.of({"age": float})
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(patients)
    with pytest.raises(rt.DataError, match="lazy"):
        model.fit(frame.lazy())
    with pytest.raises(rt.DataError, match="null character"):
        model.fit(frame.with_columns(polars.lit(1).alias("\0")))
    nothing = frame.with_columns(smoker=polars.lit(None))
    assert np.isfinite(model.fit(nothing).coef_).all()


def test_the_privacy_unit_of_an_estimator_is_read_from_the_table(patients: dict[str, Any], stays: rt.Schema) -> None:
    model = PrivateLogisticRegression(schema=stays, privacy_unit="person", progress=False)
    assert model.fit({**patients, "person": np.arange(4000) // 4}).receipt_["records"] == 1000


def test_a_check_counts_what_a_schema_does_not_allow(days: rt.Schema, patients: dict[str, Any]) -> None:
    units = patients["unit"].astype(object)
    units[:3] = "a"
    found = days.check({**patients, "unit": units})
    column = next(column for column in found["columns"] if column["name"] == "unit")
    assert column["unknown"]["count"] == 3
    assert str(found).startswith("NOT PRIVATE")
