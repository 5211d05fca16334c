"""Budgets on the disk, Ctrl-C, resumed runs, threads and processes."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reticent as rt
from conftest import ward
from reticent.linear_model import PrivateLinearRegression, PrivateLogisticRegression


@pytest.fixture
def session(tmp_path: Path) -> rt.Session:
    return rt.Session.create(tmp_path / "budget.ledger", "ward", epsilon=2, delta=1e-5)


def test_fits_are_charged_and_refused(session: rt.Session, patients: dict[str, Any], stays: rt.Schema) -> None:
    model = PrivateLogisticRegression(epsilon=1, delta=1e-6, schema=stays, session=session)
    model.fit(patients)
    assert 0.5 < session.spent.epsilon <= 1.0
    assert session.history()[0]["state"] == "settled"
    assert 'data set "ward"' in model.receipt_["ledger"]
    with pytest.raises(rt.BudgetError) as refused:
        PrivateLogisticRegression(epsilon=2.4, delta=1e-6, schema=stays, session=session).fit(patients)
    assert refused.value.hint
    assert len(session.history()) == 1
    left = session.after(0.5, 1e-6)
    assert left is not None and left.epsilon < session.remaining.epsilon
    # What was paid for is on the disk.
    (kept,) = session.folder.glob("*.reticent")
    np.testing.assert_array_equal(rt.load(kept).predict(patients)["probability_true"], model.predict_proba(patients)[:, 1])


def test_a_data_set_gets_its_budget_once(session: rt.Session) -> None:
    with pytest.raises(rt.BudgetError) as refused:
        rt.Session.create(session.ledger, "ward", epsilon=5, delta=1e-5)
    assert refused.value.hint is not None and "Session(" in refused.value.hint
    assert rt.Session(session.ledger, "ward").cap == session.cap


def test_cross_validation_charges_each_fold(session: rt.Session, patients: dict[str, Any]) -> None:
    from sklearn.model_selection import cross_val_score

    X = np.column_stack([patients["age"], patients["smoker"]])
    model = PrivateLogisticRegression(epsilon=0.3, delta=1e-7, bounds=[(18, 95), (0, 1)], classes=[False, True], session=session)
    scores = cross_val_score(model, X, patients["stays"], cv=3)
    assert len(scores) == 3 and scores.min() > 0.5
    assert len(session.history()) == 3


class Interrupt:
    """Presses Ctrl-C before a release."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, what: str, step: int, planned: int) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_leaves_a_run_that_can_be_resumed(session: rt.Session, patients: dict[str, Any], stays: rt.Schema) -> None:
    # Reading the records again for each release leaves time for the signal.
    model = PrivateLogisticRegression(epsilon=1, delta=1e-6, schema=stays, session=session, memory=1000, progress=Interrupt(3))
    with pytest.raises(KeyboardInterrupt) as stopped:
        for _ in range(50):
            model.fit(ward(200_000))
    assert isinstance(stopped.value, rt.Stopped) and stopped.value.hint
    assert len(session.unfinished) == 1
    before = session.spent
    model.set_params(progress=False)
    resumed = session.resume()
    assert resumed is model
    assert session.unfinished == [] and session.spent.epsilon <= before.epsilon + 1e-9
    assert resumed.receipt_.epsilon <= 1
    with pytest.raises(rt.SettingsError):
        session.resume()


def test_ctrl_c_ends_a_release_midway(days: rt.Schema) -> None:
    large = ward(3_000_000)
    model = PrivateLinearRegression(epsilon=1, delta=1e-8, schema=days, memory=1000)
    seen: list[float] = []

    def press(what: str, step: int, planned: int) -> None:
        seen.append(time.monotonic())
        if len(seen) == 2:
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()

    model.set_params(progress=press)
    with pytest.raises(KeyboardInterrupt):
        model.fit(large)
    assert len(seen) == 2, "the run went on to another release"


def test_an_exception_of_a_callback_ends_the_run(patients: dict[str, Any], stays: rt.Schema) -> None:
    def fail(what: str, step: int, planned: int) -> None:
        raise RuntimeError("of the callback")

    with pytest.raises(RuntimeError, match="of the callback"):
        PrivateLogisticRegression(schema=stays, progress=fail).fit(ward(500_000))


def test_progress_is_reported(patients: dict[str, Any], stays: rt.Schema, capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[tuple[str, int, int]] = []
    PrivateLogisticRegression(schema=stays, progress=lambda *step: seen.append(step)).fit(patients)
    assert len(seen) > 5 and all(1 <= step <= planned for _, step, planned in seen)
    PrivateLogisticRegression(schema=stays, progress=True).fit(patients)
    assert "weighted scores" in capsys.readouterr().err
    PrivateLogisticRegression(schema=stays).fit(patients)
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "")


def test_other_threads_run_meanwhile(stays: rt.Schema) -> None:
    large = ward(400_000)
    ticks = 0
    end = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not end.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    PrivateLogisticRegression(schema=stays).fit(large)
    end.set()
    thread.join()
    assert ticks > 20


def _fit(epsilon: float) -> float:
    columns = ward(2000)
    schema = rt.Schema.of({"age": (18, 95)}, target=("stays", bool))
    spent: float = PrivateLogisticRegression(epsilon=epsilon, schema=schema).fit(columns).receipt_.epsilon
    return spent


def _child(queue: Any) -> None:
    queue.put(_fit(0.5))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_after_a_fit_can_fit(stays: rt.Schema) -> None:
    _fit(1.0)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_child, args=(queue,))
    child.start()
    child.join(60)
    hangs = child.is_alive()
    if hangs:
        child.kill()
    assert not hangs and child.exitcode == 0
    assert queue.get(timeout=10) <= 0.5


def test_fits_run_beside_each_other() -> None:
    from joblib import Parallel, delayed

    assert all(spent <= epsilon for epsilon, spent in zip((0.5, 1.0), Parallel(n_jobs=2)(delayed(_fit)(epsilon) for epsilon in (0.5, 1.0))))


def test_pickles_hold_the_posterior_and_no_record(session: rt.Session, stays: rt.Schema) -> None:
    columns = ward(3000)
    secret = "a-level-of-one-patient"
    columns["unit"] = np.where(np.arange(3000) == 7, secret, columns["unit"].astype(object))
    columns["age"][7] = 61.73205080756887
    model = PrivateLogisticRegression(schema=stays, session=session).fit(columns)
    content = pickle.dumps(model)
    assert secret.encode() not in content
    assert np.float64(61.73205080756887).tobytes() not in content
    again = pickle.loads(content)
    np.testing.assert_array_equal(again.predict_proba(columns), model.predict_proba(columns))
    assert again.receipt_ == model.receipt_ and again.session.data_set == "ward"
    assert len(content) < 50_000
