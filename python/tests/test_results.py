"""Summaries, draws, plans, reports, simulated records, effects, evaluations and files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reticent as rt
from conftest import ward
from reticent.conjugate import PrivateMultivariateNormal
from reticent.linear_model import PrivateLinearRegression, PrivateLogisticRegression
from reticent.mixture import PrivateGaussianMixture


@pytest.fixture(scope="module")
def linear() -> Any:
    schema = rt.Schema.of({"age": rt.bounds(18, 95, unit="years"), "smoker": bool, "unit": ["A", "B", "C"]}, target=("days", rt.bounds(0, 30, unit="days")))
    return PrivateLinearRegression(epsilon=2, schema=schema).fit(ward(6000))


def test_draws_agree_with_the_summary(linear: Any) -> None:
    draws = linear.model_.draws(20_000, seed=1)
    coefficients = {row["place"][0][1]: row for row in linear.summary() if row["variable"] == "coefficient"}
    labels = linear.model_.coords()[linear.model_.dims()["coefficient"][0]]
    assert labels == list(coefficients)
    for label, column in zip(labels, draws["coefficient"].T):
        row = coefficients[label]
        assert abs(column.mean() - row["mean"]) < 5 * row["sd"] / np.sqrt(20_000)
        assert abs(column.std() / row["sd"] - 1) < 0.05
    assert draws["intercept"].shape == (20_000,)
    np.testing.assert_array_equal(linear.model_.draws(5, seed=3)["coefficient"], linear.model_.draws(5, seed=3)["coefficient"])


def test_the_truth_is_within_reach(linear: Any) -> None:
    row = linear.summary()["coefficient[age]"]
    assert abs(row["mean"] - 0.05) < 5 * row["sd"]
    assert row["unit"] == "days/years"
    assert np.isclose(row["sd"] ** 2, row["records_sd"] ** 2 + row["privacy_sd"] ** 2, rtol=0.05)


def test_posteriors_are_arviz_trees(linear: Any, patients: dict[str, Any]) -> None:
    pytest.importorskip("arviz_base")
    tree = linear.posterior(draws=300, seed=2, X=patients)
    posterior = tree["posterior"]
    assert posterior["coefficient"].shape == (1, 300, 4)
    labels = posterior[posterior["coefficient"].dims[-1]].values
    assert "age" in labels
    assert tree["posterior_predictive"]["days"].shape == (1, 300, 4000)
    predicted = tree["posterior_predictive"]["days"].values[0]
    np.testing.assert_allclose(predicted.mean(axis=0), linear.predict(patients), atol=0.2)
    assert abs(predicted.std(axis=0).mean() - linear.predict(patients, return_std=True)[1].mean()) < 0.1
    assert float(tree["constant_data"]["upper_bound"].sel(numeric_column="age")) == 95
    assert json.loads(posterior.attrs["guarantee"])["epsilon"]["upper"] <= 2


def test_every_model_is_an_arviz_tree() -> None:
    pytest.importorskip("arviz_base")
    X = np.random.default_rng(0).normal(0.5, 0.1, (4000, 2))
    tree = PrivateMultivariateNormal(epsilon=2, bounds=(0, 1)).fit(X).posterior(draws=50)
    assert set(tree["posterior"].data_vars) >= {"mean"}
    mixture = PrivateGaussianMixture(epsilon=5, bounds=(0, 1), components=2, noise_sd=0.2).fit(X)
    assert mixture.posterior(draws=50)["posterior"].sizes["draw"] == 50


def test_plans_come_before_data(days: rt.Schema) -> None:
    model = PrivateLinearRegression(epsilon=1, schema=days)
    plan = model.plan(records=5000, forecast=1)
    assert plan.epsilon is not None and plan.epsilon <= 1
    assert "moments of inputs" in str(plan) and "coefficient[age]" in str(plan)
    assert "<table>" in plan._repr_html_()
    fitted = PrivateLinearRegression(epsilon=1, schema=days, use_plan=plan).fit(ward(5000))
    assert [group["planned"] for group in fitted.receipt_["groups"]] == [release["times"] for release in plan["releases"]]
    with pytest.raises(rt.ReticentError):
        PrivateLogisticRegression(schema=days).plan(5000)


def test_reports_and_receipts_show_in_notebooks(linear: Any, tmp_path: Path) -> None:
    report = linear.report()
    assert report.html.startswith("<!DOCTYPE html>") and "srcdoc" in report._repr_html_()
    report.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == report.html
    assert linear.receipt_.is_private and linear.receipt_.delta == 1e-6
    assert "assumptions" in linear.receipt_._repr_html_()
    assert "age" in linear.summary()._repr_html_()
    assert json.loads(json.dumps(dict(linear.receipt_)))["records"] == 6000


def test_simulated_records_have_the_columns_of_the_schema() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    X = np.random.default_rng(0).normal(0.5, 0.1, (8000, 2))
    model = PrivateMultivariateNormal(epsilon=5, bounds=(0, 1)).fit(X)
    table = pyarrow.table(model.simulate(20_000, seed=1))
    assert table.column_names == ["x0", "x1"] and table.num_rows == 20_000
    assert abs(np.mean(table["x0"].to_numpy()) - 0.5) < 0.03
    assert pyarrow.table(model.simulate(20_000, seed=1)) == table


def test_models_go_to_files_and_back(linear: Any, patients: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "days.reticent"
    linear.save(file)
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(rt.FileError):
        linear.save(file)
    loaded = rt.load(file)
    np.testing.assert_array_equal(loaded.predict(patients)["mean"], linear.predict(patients))
    again = PrivateLinearRegression.of_model(loaded)
    np.testing.assert_array_equal(again.predict(patients), linear.predict(patients))
    with pytest.raises(rt.SettingsError):
        PrivateLogisticRegression.of_model(loaded)
    (tmp_path / "wrong.reticent").write_bytes(b"nothing of the kind")
    with pytest.raises(rt.DataError):
        rt.load(tmp_path / "wrong.reticent")


def test_effects_and_pictures(linear: Any, tmp_path: Path) -> None:
    effects = linear.effects()
    assert {effect["column"] for effect in effects["columns"]} == {"age", "smoker", "unit"}
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = rt.plot_effects(linear)
    axes[0].figure.savefig(tmp_path / "effects.png")
    session = rt.Session.create(tmp_path / "b.ledger", "ward", epsilon=2, delta=1e-5)
    rt.plot_budget(session).figure.savefig(tmp_path / "budget.png")
    assert (tmp_path / "effects.png").stat().st_size > 5000


def test_evaluations_are_private_only_with_a_budget(linear: Any, tmp_path: Path) -> None:
    test = ward(3000, seed=9)
    exact = linear.evaluate(test)
    assert exact["rmse"] == pytest.approx(np.sqrt(np.mean((linear.predict(test) - test["days"]) ** 2)), rel=1e-6)
    session = rt.Session.create(tmp_path / "b.ledger", "test", epsilon=1, delta=1e-5)
    private = linear.evaluate(test, epsilon=1, delta=1e-6, session=session)
    assert 0.5 < session.spent.epsilon <= 1
    error = private.figures["root mean squared error"]
    assert error["lower"] < exact["rmse"] < error["upper"]
    assert "Receipt" in str(private)
    compared = rt.compare({"a": linear.model_, "b": linear.model_}, test)
    assert compared["names"] == ["a", "b"]
