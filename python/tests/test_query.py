"""Queries of one's own: what they release, what they cost, and that nothing of a row shows."""

from __future__ import annotations

import copy
import doctest
import gc
import io
import logging
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import traceback
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
import reticent as rt
from reticent import Schema, Session, linear_model, query, sep, vb

SECRET = 987654.25
BUDGET = {"epsilon": 1.0, "delta": 1e-6}


def plan_of(records=1000, width=1, adjacency="replace-one", **options):
    plan = query.Plan(records, adjacency)
    options = {"norm": 1.0} | options
    if "lower" in options:
        del options["norm"]
    return plan, plan.sums("a sum", width, **options)


def exact(rows, function, state=None, width=1, adjacency="add-remove", **options):
    """The sum without noise and clipping."""
    plan, sums = plan_of(len(rows) or 1, width, adjacency, **options)
    with query.Wall(np.asarray(rows, dtype=float), plan, without_privacy=True) as wall:
        return wall.sum(sums, function, state).values


@pytest.mark.parametrize("module", [query, sep, vb])
def test_examples_run(module):
    failed, run = doctest.testmod(module)
    assert run > 0 and failed == 0


# ---- What is released.


def test_sums_are_within_their_noise_and_clipped():
    rows = np.linspace(-2, 2, 3000).reshape(1000, 3)
    plan, sums = plan_of(width=3, norm=0.5, steps=5)
    with query.Wall(rows, plan, **BUDGET) as wall:
        released = [wall.sum(sums, lambda row, state: row) for _ in range(5)]
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    clipped = (rows * np.minimum(1, 0.5 / norms)).sum(0)
    assert [each.step for each in released] == [1, 2, 3, 4, 5]
    for each in released:
        # Seven standard deviations: a false alarm in 1e10 runs.
        assert (np.abs(each.values - clipped) < 7 * each.noise_sd).all()
    # Diameter times the multiplier, which for five Gaussian releases is sqrt 5 times that of one.
    (multiplier,) = wall.plan.noise_multipliers
    assert released[0].noise_sd == pytest.approx(2 * 0.5 * multiplier, rel=1e-6)
    assert wall.receipt.epsilon == pytest.approx(1.0, rel=1e-4) and wall.receipt.epsilon <= 1


@pytest.mark.parametrize(
    ("options", "width", "sensitivity"),
    [
        ({"norm": 2.0}, 3, 4.0),
        ({"norm": 2.0, "non_negative": True}, 3, 2.0 * np.sqrt(2)),
        ({"norm": 2.0, "order": 1}, 3, 4.0),
        ({"norm": 2.0, "blocks": [(1, 1.0), (2, 1.0)]}, 3, 4.0),
        ({"lower": 0.0, "upper": [1.0, 1.0, 1.0]}, 3, np.sqrt(3)),
        ({"norm": 2.0, "sampling": query.Poisson(0.5)}, 3, 4.0),
        ({"norm": 2.0, "sampling": query.Fixed(100)}, 3, 4.0),
        ({"norm": 2.0, "sampling": query.Passes(300)}, 3, 4.0),
    ],
)
def test_noise_is_that_of_the_sensitivity(options, width, sensitivity):
    plan, sums = plan_of(width=width, noise_multiplier=10.0, **options)
    with query.Wall(np.ones((1000, 2)), plan, epsilon=50, delta=1e-4) as wall:
        released = wall.sum(sums, lambda row, state: np.full(width, 0.3))
    spread = np.sqrt(2) if "order" in options else 1.0
    assert released.noise_sd == pytest.approx(sensitivity * 10.0 * spread, rel=1e-5)


def test_outer_products_are_a_matrix():
    rows = np.random.default_rng(1).normal(size=(1000, 3))
    plan, sums = plan_of(width=3, norm=100.0, outer=True)
    with query.Wall(rows, plan, without_privacy=True) as wall:
        released = wall.sum(sums, lambda row, state: row)
    assert released.matrix == pytest.approx(rows.T @ rows, rel=1e-9)


def test_groups_share_the_budget():
    plan = query.Plan(1000)
    plan.sums("one", 1, norm=1.0, steps=4)
    plan.sums("two", 1, norm=1.0, share=3.0)
    plan.sums("three", 1, norm=1.0, noise_multiplier=50.0)
    one, two, three = plan.calibrated(1.0, 1e-6).noise_multipliers
    assert three == 50.0
    assert (4 / one**2) / (1 / two**2) == pytest.approx(1 / 3)
    assert 0.999 < plan.calibrated(1.0, 1e-6).epsilon(1e-6) <= 1.0
    pure = query.Plan(1000)
    pure.sums("pure", 2, norm=1.0, order=1, steps=2)
    assert pure.calibrated(0.5, 0.0).noise_multipliers == pytest.approx([4.0])


@given(rows=st.lists(st.floats(-5, 5), min_size=1, max_size=60), vectorised=st.booleans())
@settings(deadline=None, max_examples=40)
def test_sums_are_those_of_numpy(rows, vectorised):
    rows = np.array(rows)[:, None]
    squares = query.Query(lambda row, state: row**2 + state, vectorised=vectorised)
    assert exact(rows, squares, 0.5) == pytest.approx([(rows**2 + 0.5).sum()])


@pytest.mark.parametrize("kind", ["arrow", "columns", "file"])
def test_tables_are_encoded_by_their_schema(kind, tmp_path):
    schema = 'target = { name = "stays", kind = "boolean" }\nfeatures = [{ name = "age", kind = "numeric", bounds = [0, 100] }]'
    table = {"stays": [True, False, None, True], "age": [25.0, None, 50.0, 1000.0]}
    if kind == "arrow":
        table, schema = pytest.importorskip("pyarrow").table(table), Schema(schema)
    elif kind == "file":
        table = tmp_path / "stays.csv"
        table.write_text("age,stays\n25,true\n,false\n50,\n1000,true\n")
    plan, sums = plan_of(4, 2)
    rows: list[list[float]] = []
    with query.Wall(table, plan, without_privacy=True, schema=schema) as wall:
        assert wall.columns == ["age", "stays"]
        wall.sum(sums, lambda row, state: rows.append(row.tolist()) or row)
    # The first call is with the example. A record without a target is absent.
    assert rows == [[0.0, 0.0], [-0.5, 1.0], [0.0, -1.0], [1.0, 1.0]]


# ---- Rows that fail.


class Misleading:
    """Fails when it is converted to numbers."""

    def __array__(self, *_, **__):
        raise ValueError(SECRET)


def endless(row):
    return endless(row)


def returned(value):
    return lambda row: value


def warned(row):
    warnings.warn(f"row {row[0]}", stacklevel=1)
    np.log(np.array([-row[0]]))
    raise ValueError(f"{row[0]}")


def chained(row):
    try:
        raise KeyError(float(row[0]))
    except KeyError as error:
        raise ValueError(f"{row[0]}") from error


class Unraisable:
    def __init__(self, value):
        self.value = value

    def __del__(self):
        raise ValueError(self.value)


def unraisable(row):
    Unraisable(float(row[0]))
    raise ValueError


async def coroutine(row):
    return row


def raising(kind):
    def fail(row):
        raise kind(float(row[0]))

    return fail


FAILURES = {
    "ValueError": raising(ValueError),
    "KeyboardInterrupt": raising(KeyboardInterrupt),
    "SystemExit": raising(SystemExit),
    "StopIteration": raising(StopIteration),
    "GeneratorExit": raising(GeneratorExit),
    "MemoryError": raising(MemoryError),
    "RecursionError": endless,
    "memory": lambda row: np.empty(1 << 60),
    "chained": chained,
    "warned": warned,
    "unraisable": unraisable,
    "coroutine": coroutine,
    "generator": lambda row: (x for x in row),
    "nothing": returned(None),
    "text": returned("1.0"),
    "complex": returned(np.array([1j])),
    "object": returned(np.array([object()])),
    "misleading": returned(Misleading()),
    "too long": returned(np.ones(2)),
    "too deep": returned(np.ones((1, 1))),
    "empty": returned(np.ones(0)),
    "ragged": returned([[1.0], 2.0]),
    "NaN": returned(np.array([np.nan])),
    "infinite": returned(np.array([np.inf])),
    "exit": lambda row: sys.exit(f"{row[0]}"),
}


@pytest.mark.parametrize("vectorised", [False, True])
@pytest.mark.parametrize("name", FAILURES)
def test_a_row_that_fails_is_zeros_and_no_other_is(name, vectorised, capfd, caplog):
    """The sum is that without the row, to the last bit, and nothing is printed, logged or warned."""
    fail = FAILURES[name]
    rows = np.arange(3000.0)[:, None] / 1024
    rows[1700] = SECRET

    def one(row, state):
        return fail(row) if row[0] == SECRET else row * state

    def block(block, state):
        out = block * state
        found = block[:, 0] == SECRET
        if found.any():
            if name in ("NaN", "infinite"):
                out[found] = fail(block[found][0])
                return out
            return fail(block[found][0])
        return out

    function = query.Query(block, vectorised=True) if vectorised else one
    caplog.set_level(logging.DEBUG)
    handler = logging.StreamHandler(stream := io.StringIO())
    logging.getLogger().addHandler(handler)
    logging.captureWarnings(True)
    hook = sys.unraisablehook
    try:
        found = exact(rows, function, 2.0)
    finally:
        logging.captureWarnings(False)
        logging.getLogger().removeHandler(handler)
    assert found == exact(np.delete(rows, 1700, axis=0), function, 2.0)
    gc.collect()
    out, err = capfd.readouterr()
    assert out == err == stream.getvalue() == "" and not caplog.records
    assert sys.unraisablehook is hook and sys.exc_info() == (None, None, None)
    assert not any(str(SECRET) in str(entry) for module in list(sys.modules.values()) for entry in getattr(module, "__warningregistry__", {}))


@given(bad=st.sets(st.integers(0, 2999), max_size=12))
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_blocks_are_divided_down_to_the_rows_that_fail(bad):
    rows = np.arange(3000.0)[:, None]
    shapes = set()

    def block(rows, state):
        shapes.add(rows.shape)
        if np.isin(rows[:, 0], list(bad - {0})).any():
            raise ValueError
        return rows

    expected = sum(set(range(3000)) - bad)
    assert exact(rows, query.Query(block, vectorised=True)) == expected
    # The number of rows does not show.
    assert shapes == {(query.BLOCK, 1)}


def test_a_person_counts_once():
    schema = 'privacy_unit = "person"\nfeatures = [{ name = "x", kind = "numeric", bounds = [-10, 10] }]'
    table = {"person": ["a", "b", "a", "c", "a"], "x": [1.0, 2.0, 2.0, 4.0, 3.0]}
    plan, sums = plan_of(3)
    with query.Wall(table, plan, without_privacy=True, schema=schema) as wall:
        assert wall.sum(sums, lambda row, state: 10 * row).values == pytest.approx([2.0 + 2.0 + 4.0])
        assert wall.columns == ["x"]
    with query.Wall(table, plan, without_privacy=True, schema=schema) as wall:
        # A row that fails is not counted among those of its person.
        assert wall.sum(sums, lambda row, state: 10 * row if row[0] < 0.25 else row[5]).values == pytest.approx([1.5 + 2.0])


def test_absent_records_are_not_given_to_the_function():
    rows = np.array([[1.0, 2.0], [np.nan, 3.0], [4.0, np.inf], [5.0, 6.0]])
    seen = []
    assert exact(rows, lambda row, state: seen.append(row.tolist()) or row[:1]) == 6.0
    assert seen == [[0.0, 0.0], [1.0, 2.0], [5.0, 6.0]]
    finite = []
    block = query.Query(lambda rows, state: finite.append(np.isfinite(rows).all()) or rows[:, :1] + 1, vectorised=True)
    assert exact(rows, block) == 8.0 and all(finite)


@pytest.mark.parametrize("value", [np.nan, SECRET])
def test_a_row_moves_no_other_row(value):
    """Not even if the place of a row mattered, as it may in the last bit of a product of matrices."""

    def placed(rows, state):
        if (rows == SECRET).any():
            raise ValueError
        return rows * (1 + np.arange(len(rows))[:, None])

    function = query.Query(placed, vectorised=True)
    rows = np.arange(3000.0)[:, None]
    whole = exact(rows, function)
    rows[1700] = value
    assert whole - exact(rows, function) == 1700 * (1700 - query.BLOCK + 1)


def test_a_row_that_is_changed_or_kept_is_no_other_row():
    rows = np.arange(2500.0)[:, None]
    given_rows, results = [], np.zeros(1)

    def hostile(row, state):
        given_rows.append(row)
        assert row.base is None and state["scale"].base is None
        for array in (row, state["scale"]):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = -1.0
        with pytest.raises(TypeError):
            state["scale"] = None
        results[0] = row[0] * state["scale"][0]
        row.flags.writeable = True
        row[0] = -7.0
        for earlier in given_rows[-3:]:
            earlier.flags.writeable = True
            earlier[0] = 99.0
        # One array for all: it is copied at once.
        return results

    state = {"scale": np.array([2.0])}
    assert exact(rows, hostile, state) == 2 * rows.sum()
    assert state["scale"] == 2.0 and rows[3] == 3.0

    def block(rows, state):
        rows.flags.writeable = True
        out = rows.copy()
        rows[:] = -7.0
        return out

    assert exact(rows, query.Query(block, vectorised=True)) == rows.sum()
    assert rows[3] == 3.0


# ---- What shows of the records.


def frames(error):
    """All variables of the package in a traceback, and in those of what caused it."""
    while error is not None:
        trace = error.__traceback__
        while trace is not None:
            if "reticent" in trace.tb_frame.f_globals.get("__name__", ""):
                yield from trace.tb_frame.f_locals.items()
            trace = trace.tb_next
        error = error.__cause__ or error.__context__


def shows(value):
    """Whether a value, or a part of it, is private."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "f" and bool((value == SECRET).any())
    if isinstance(value, (list, tuple)):
        return any(shows(part) for part in value)
    return str(SECRET) in repr(value)


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": -1.0},
        {"delta": 2.0},
        {"data": np.full((999, 1), SECRET)},
        {"data": np.full((1000, 1), SECRET).astype(object)},
        {"data": np.full(1000, SECRET)},
        {"data": [[SECRET]] * 1000},
        {"schema": "nonsense"},
        {"schema": 'features = [{ name = "age", kind = "numeric", bounds = [0, 100] }]'},
        {"session": ("/nonexistent/ledger", "ward")},
        {"example": [1.0, 2.0]},
    ],
)
def test_no_exception_of_a_wall_holds_the_records(change):
    plan, _ = plan_of()
    arguments = {"data": np.full((1000, 1), SECRET), "plan": plan} | BUDGET | change
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whichever it is
        query.Wall(**arguments)
    assert str(SECRET) not in "".join(traceback.format_exception(caught.value))
    assert not [name for name, value in frames(caught.value) if shows(value)]


def test_walls_do_not_show_their_records():
    plan, sums = plan_of(steps=2)
    rows = np.full((1000, 1), SECRET)
    with query.Wall(rows, plan, **BUDGET) as wall:
        del rows
        wall.sum(sums, lambda row, state: row * 0)
        for text in (repr(wall), str(wall), repr(wall._core), repr(sums)):
            assert "98765" not in text
        for take in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError):
                take(wall)
            with pytest.raises(TypeError):
                take(wall._core)
        with pytest.raises(query.SettingsError):
            wall.receipt  # noqa: B018
        for name in dir(wall._core):
            assert name.startswith("__") or name in {"finish", "guarantee", "names", "of_rows", "of_table", "sum", "width"}
    assert "98765" not in repr(wall)
    gc.collect()
    assert not [array for array in gc.get_objects() if isinstance(array, np.ndarray) and array.size and shows(array)]


def test_errors_of_a_sum_hold_no_row():
    plan, sums = plan_of(steps=1)
    with query.Wall(np.full((1000, 1), SECRET), plan, **BUDGET) as wall:
        wall.sum(sums, lambda row, state: 1 / (row[0] - SECRET))
        with pytest.raises(Exception, match="all 1 planned releases") as caught:
            wall.sum(sums, lambda row, state: row)
    assert not [name for name, value in frames(caught.value) if shows(value)]


def test_a_query_is_tried_on_the_example_first():
    plan, sums = plan_of()
    with query.Wall(np.full((1000, 1), SECRET), plan, **BUDGET) as wall:
        calls = []
        with pytest.raises(ZeroDivisionError):
            wall.sum(sums, lambda row, state: calls.append(row[0]) or 1 / int(row[0]))
        with pytest.raises(query.DataError, match=r"\(1,\)"):
            wall.sum(sums, lambda row, state: calls.append(row[0]) or np.ones(2))
        with pytest.raises(query.DataError):
            wall.sum(sums, query.Query(lambda rows, state: rows[:10], vectorised=True))
        # Not a single private row was read, and the release is still there.
        assert calls == [0.0, 0.0]
        wall.sum(sums, lambda row, state: row * 0)
    assert wall.receipt["groups"][0]["made"] == 1
    with query.Wall(np.ones((1000, 1)), plan, example=[3.0], **BUDGET) as wall:
        wall.sum(sums, lambda row, state: 1 / int(row[0]))


# ---- Budget and receipt.


def test_the_receipt_states_the_claims():
    plan = query.Plan(1000)
    one, many = plan.sums("one", 1, norm=1.0), plan.sums("many", 1, norm=1.0)
    with query.Wall(np.ones((1000, 1)), plan, **BUDGET) as wall:
        wall.sum(one, lambda row, state: row)
        wall.sum(many, query.Query(lambda rows, state: rows, vectorised=True))
    claims = [line for line in wall.receipt.assumptions if "claim" in line]
    assert [claim.split(":")[0] for claim in claims] == ["one", "many", "many"]
    assert "do not influence each other" in claims[2] and "do not influence each other" in str(wall.receipt)
    with query.Wall(np.ones((1000, 1)), plan, without_privacy=True) as wall:
        wall.sum(one, lambda row, state: row)
    assert "NOT PRIVATE" in str(wall.receipt) and wall.receipt.epsilon is None


def test_a_plan_beyond_its_budget_is_refused():
    plan, _ = plan_of(noise_multiplier=1.0)
    with pytest.raises(Exception, match="at most 1 is allowed"):
        query.Wall(np.ones((1000, 1)), plan, **BUDGET)
    with pytest.raises(Exception, match="1000 records"):
        query.Wall(np.ones((1001, 1)), plan_of()[0], **BUDGET)
    with pytest.raises(query.SettingsError):
        query.Wall(np.ones((1000, 1)), plan_of()[0])
    # Under add-remove the number of records is a guess.
    plan, sums = plan_of(adjacency="add-remove")
    with query.Wall(np.ones((1003, 1)), plan, **BUDGET) as wall:
        wall.sum(sums, lambda row, state: row)


@pytest.mark.parametrize(
    "options",
    [
        {"norm": None},
        {"norm": -1.0},
        {"norm": 1.0, "lower": 0.0, "upper": 1.0},
        {"norm": 1.0, "outer": True, "non_negative": True},
        {"norm": 1.0, "order": 3},
        {"norm": None, "lower": 0.0},
        {"norm": 1.0, "steps": 0},
        {"norm": 1.0, "share": 0.0},
        {"norm": 1.0, "noise_multiplier": -1.0},
        {"norm": 1.0, "blocks": [(1, 1.0)]},
        {"norm": 1.0, "sampling": 0.1},
        {"norm": 1.0, "sampling": query.Poisson(2.0)},
        {"norm": 1.0, "sampling": query.Fixed(2000)},
    ],
)
def test_bad_plans_are_refused(options):
    plan = query.Plan(1000)
    with pytest.raises(ValueError):  # noqa: PT011 - each states what is wrong
        plan.sums("a sum", 2, **options)
    assert plan.noise_multipliers == []


@pytest.fixture
def ledger(tmp_path):
    return Session.create(tmp_path / "budget.ledger", "ward", epsilon=2.2, delta=1e-5)


def test_runs_are_charged_and_refused(ledger):
    rows = np.ones((1000, 1))
    plan, sums = plan_of()
    # Nothing was released: nothing is charged, however the run ends.
    with query.Wall(rows, plan, session=ledger, **BUDGET):
        pass
    wall = query.Wall(rows, plan, session=ledger, **BUDGET)
    del wall
    assert ledger.remaining.epsilon == 2.2
    with pytest.raises(RuntimeError, match="mine"), query.Wall(rows, plan, session=ledger, **BUDGET) as wall:
        wall.sum(sums, lambda row, state: row)
        raise RuntimeError("mine")
    assert not ledger.unfinished and wall.receipt.epsilon
    first = ledger.remaining.epsilon
    assert first < 2.1
    # A wall that is never closed stays charged.
    wall = query.Wall(rows, plan, session=ledger, **BUDGET)
    charged = []
    path = (str(ledger.ledger), ledger.data_set)
    wall.sum(sums, lambda row, state: row if charged or not row[0] else charged.append(Session(*path).remaining.epsilon))
    # Before the first row was read.
    assert charged[0] < first
    del wall
    assert len(ledger.unfinished) == 1
    assert ledger.remaining.epsilon == charged[0]
    with pytest.raises(Exception, match="remain"):
        for _ in range(20):
            with query.Wall(rows, plan, session=path, **BUDGET) as wall:
                wall.sum(sums, lambda row, state: row)


def test_a_process_that_is_killed_stays_charged(ledger):
    program = f"""
        import os, numpy as np
        from reticent import query
        plan = query.Plan(1000)
        sums = plan.sums("a sum", 1, norm=1.0)
        with query.Wall(np.ones((1000, 1)), plan, epsilon=1, delta=1e-6, session=({str(ledger.ledger)!r}, "ward"), example=[2.0]) as wall:
            wall.sum(sums, lambda row, state: row if row[0] == 2.0 else os._exit(7))
    """
    assert subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=False).returncode == 7
    assert ledger.remaining.epsilon < 2.1 and len(ledger.unfinished) == 1


# ---- Threads and Ctrl-C.


def test_a_wall_makes_one_release_at_a_time():
    plan, sums = plan_of(10, steps=2)
    with query.Wall(np.ones((10, 1)), plan, without_privacy=True) as wall:
        inner = []

        def nested(row, state):
            if row[0]:
                try:
                    wall.sum(sums, lambda row, state: row)
                except BaseException as error:
                    inner.append(str(error))
                    raise
            return row

        assert wall.sum(sums, nested).values == 0.0
        assert len(inner) == 10 and "one at a time" in inner[0]


def test_walls_of_several_threads_do_not_wait_for_each_other():
    found, filters = [], list(warnings.filters)

    def work():
        rows = np.ones((3000, 1))
        found.append(exact(rows, lambda row, state: np.log(row) + row)[0])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [3000.0] * 4
    assert list(warnings.filters) == filters


def test_silence_lasts_until_the_last_thread_has_evaluated():
    filters, hook = list(warnings.filters), sys.unraisablehook
    with query._SILENCE:
        with query._SILENCE:
            assert warnings.filters[0][0] == "ignore" and sys.unraisablehook is not hook
        assert warnings.filters[0][0] == "ignore" and sys.unraisablehook is not hook
    assert list(warnings.filters) == filters and sys.unraisablehook is hook


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_makes_no_release(ledger):
    """It would have the same noise as this one."""
    plan, sums = plan_of(steps=2)
    wall = query.Wall(np.ones((1000, 1)), plan, session=ledger, **BUDGET)
    for made in range(2):
        if (child := os.fork()) == 0:
            refused = 0
            for use in (lambda: wall.sum(sums, lambda row, state: row), wall.close):
                try:
                    use()
                except query.DataError:
                    refused += 1
            del use, wall
            gc.collect()
            os._exit(refused)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
        assert wall.sum(sums, lambda row, state: row).step == made + 1
    assert wall.close()["groups"][0]["made"] == 2 and not ledger.unfinished


def test_an_empty_table_is_as_any_other_where_the_number_of_records_is_private():
    plan, sums = plan_of(adjacency="add-remove")
    with query.Wall(np.ones((0, 1)), plan, **BUDGET) as wall:
        assert abs(wall.sum(sums, lambda row, state: row).values[0]) < 7 * wall.plan.noise_multipliers[0]


@pytest.mark.parametrize("endless", ["slow", "loop"])
def test_an_interrupt_ends_a_release_and_not_a_row(endless):
    plan, sums = plan_of(100_000, steps=2)
    wall = query.Wall(np.ones((100_000, 1)), plan, **BUDGET)
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()

    def slow(row, state):
        if not row[0]:
            return row
        if endless == "loop":
            while True:
                pass
        time.sleep(0.01)
        return row

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt) as caught, wall:
        wall.sum(sums, slow)
    assert time.monotonic() - start < 10
    assert not [name for name, value in frames(caught.value) if isinstance(value, np.ndarray) and value.size > 1]
    # It was charged, and settled.
    assert wall.receipt.epsilon > 0.9 and wall.receipt["groups"][0]["made"] == 1


# ---- Engines.


def test_sep_of_a_gaussian_mean_is_the_conjugate_posterior():
    rng = np.random.default_rng(3)
    rows = rng.normal([1.0, -2.0], 1.0, size=(4000, 2))
    noise = np.array([[1.0, 0.3], [0.3, 2.0]])
    prior = sep.Gaussian([0.5, 0.0], [[4.0, 1.0], [1.0, 2.0]])
    inverse = np.linalg.inv(noise)

    def site(row, cavity):
        return inverse @ row, inverse

    plan = query.Plan(4000)
    sums = sep.sums(plan, prior, norm=10.0, steps=3)
    with query.Wall(rows, plan, without_privacy=True) as wall:
        fit = sep.fit(wall, sums, prior, site)
    precision = prior.precision + 4000 * inverse
    mean = np.linalg.solve(precision, prior.precision @ prior.mean + inverse @ rows.sum(0))
    assert fit.mean == pytest.approx(mean, abs=1e-9)
    assert fit.posterior.covariance == pytest.approx(np.linalg.inv(precision), rel=1e-9)
    assert fit.projections == 0

    # With noise: the distance to it is as far as stated, in eight runs.
    distances = []
    for _ in range(8):
        with query.Wall(rows, plan, **BUDGET) as wall:
            fit = sep.fit(wall, sums, prior, site)
        added = fit.noise_covariance
        distances.append((fit.mean - mean) @ np.linalg.solve(added, fit.mean - mean))
    # Chi-squared with 16 degrees of freedom, but for the noise of the precision: 1e-6 on either side.
    assert 1.5 < sum(distances) < 62
    assert (np.linalg.eigvalsh(fit.covariance - fit.posterior.covariance) > 0).all()


def logistic_site(rows, cavity):
    return sep.linear_site(lambda value, sign: -np.logaddexp(0, -sign * value), cavity, rows[..., :-1], rows[..., -1])


def test_sep_of_logistic_regression_is_expectation_propagation():
    rng = np.random.default_rng(4)
    inputs = np.column_stack([np.ones(3000), rng.uniform(-1, 1, size=(3000, 2))])
    signs = np.where(rng.random(3000) < 1 / (1 + np.exp(-inputs @ [0.5, 2.0, -1.0])), 1.0, -1.0)
    rows = np.column_stack([inputs, signs])
    prior = sep.Gaussian(np.zeros(3), 25.0)
    # Laplace's approximation: Newton's method, in closed form at each step.
    mode = np.zeros(3)
    for _ in range(20):
        probability = 1 / (1 + np.exp(-inputs @ mode))
        hessian = prior.precision + (inputs.T * (probability * (1 - probability))) @ inputs
        mode += np.linalg.solve(hessian, inputs.T @ ((signs + 1) / 2 - probability) - prior.precision @ mode)
    sd = np.sqrt(np.diag(np.linalg.inv(hessian)))

    plan = query.Plan(3000)
    sums = sep.sums(plan, prior, norm=2.0, steps=20)
    with query.Wall(rows, plan, without_privacy=True) as wall:
        fit = sep.fit(wall, sums, prior, query.Query(logistic_site, vectorised=True))
    assert np.abs(fit.mean - mode).max() < 0.1 * sd.max()
    assert np.sqrt(np.diag(fit.covariance)) == pytest.approx(sd, rel=0.05)
    # A large budget is nearly none, and rows one by one are the same query.
    with query.Wall(rows[:, :], plan, epsilon=50, delta=1e-4) as wall:
        near = sep.fit(wall, sums, prior, query.Query(logistic_site, vectorised=True))
    assert (np.abs(near.mean - fit.mean) < 6 * np.sqrt(np.diag(near.noise_covariance)) + 0.1 * sd).all()
    one, many = (logistic_site(rows[:5], prior), [logistic_site(row, prior) for row in rows[:5]])
    for k in range(5):
        assert one[0][k] == pytest.approx(many[k][0]) and one[1][k] == pytest.approx(many[k][1])


def test_sep_of_another_family():
    rows = (np.arange(2000.0) % 10 < 3).astype(float)[:, None]
    prior = sep.Natural([0.0, 0.0], lower=-1.0)
    plan = query.Plan(2000)
    sums = sep.sums(plan, prior, norm=1.0, steps=2)
    with query.Wall(rows, plan, without_privacy=True) as wall:
        fit = sep.fit(wall, sums, prior, lambda row, cavity: [row[0], 1 - row[0]])
    assert fit.posterior.natural == pytest.approx([600.0, 1400.0])
    # Noise that leaves no proper density is projected, and counted.
    with query.Wall(rows * 0, plan, epsilon=0.01, delta=1e-6) as wall:
        fits = [sep.fit(wall, sums, prior, lambda row, cavity: [0.0, 0.0])]
    assert (fits[0].posterior.natural > -1).all() and wall.receipt["projections"] == fits[0].projections


def mixture_statistics(rows, means):
    odds = np.exp(-0.5 * (rows - means) ** 2)
    share = odds / odds.sum(-1, keepdims=True)
    return np.concatenate([share, share * rows], axis=-1)


def mixture_means(expected, means):
    counts, totals = np.split(expected.values, 2)
    return totals / np.maximum(counts, 1.0)


@pytest.mark.parametrize("vectorised", [False, True])
def test_vb_of_a_mixture_is_that_of_numpy(vectorised):
    rng = np.random.default_rng(5)
    rows = np.where(rng.random(2000) < 0.5, rng.normal(-2, 1, 2000), rng.normal(2, 1, 2000))[:, None]
    start = np.array([-0.5, 0.7])
    means = start
    for _ in range(12):
        counts, totals = np.split(mixture_statistics(rows, means).sum(0), 2)
        means = totals / counts
    statistics = query.Query(mixture_statistics, vectorised=vectorised)
    plan, sums = plan_of(2000, 4, norm=5.0, steps=12)
    with query.Wall(rows, plan, without_privacy=True) as wall:
        fit = vb.fit(wall, sums, statistics, mixture_means, start, step_size="full")
    assert fit.state == pytest.approx(means, rel=1e-9)
    assert (fit.expected.noise_variance == 0).all()
    steps = []
    with query.Wall(rows, plan, epsilon=3, delta=1e-6) as wall:
        fit = vb.fit(wall, sums, statistics, mixture_means, start, observe=lambda step, state: steps.append(step))
    assert steps == list(range(1, 13))
    assert fit.state == pytest.approx(means, abs=0.5)
    # Weights proportional to 1, ..., 12: the sum of their squares over that of them squared.
    shrunk = sum(k**2 for k in range(1, 13)) / sum(range(1, 13)) ** 2
    (multiplier,) = wall.plan.noise_multipliers
    assert fit.expected.noise_variance == pytest.approx(shrunk * (2 * 5.0 * multiplier) ** 2, rel=1e-6)


def test_a_fit_by_sep_is_that_of_the_library(stays=4000):
    """The logistic regression of the package and that of these sites, with much budget."""
    rng = np.random.default_rng(6)
    age = rng.uniform(20, 90, stays)
    table = {"age": age, "stays": rng.random(stays) < 1 / (1 + np.exp(-(age - 55) / 10))}
    schema = Schema.of({"age": rt.bounds(20, 90)}, target=("stays", bool))
    model = linear_model.PrivateLogisticRegression(epsilon=40, delta=1e-5, schema=schema, progress=False).fit(table)
    expected = model.summary()["coefficient[age]"]

    def site(rows, cavity):
        inputs = np.concatenate([np.ones_like(rows[..., :1]), rows[..., :1]], axis=-1)
        return logistic_site(np.concatenate([inputs, rows[..., 1:]], axis=-1), cavity)

    plan = query.Plan(stays)
    prior = sep.Gaussian(np.zeros(2), 25.0)
    sums = sep.sums(plan, prior, norm=1.5, steps=15)
    with query.Wall(table, plan, epsilon=40, delta=1e-5, schema=schema) as wall:
        fit = sep.fit(wall, sums, prior, query.Query(site, vectorised=True))
    # Bounds are -1 and 1, 70 years apart.
    mean, sd = fit.mean[1] / 35, np.sqrt(fit.covariance[1, 1]) / 35
    assert abs(mean - expected["mean"]) < expected["sd"]
    assert sd == pytest.approx(expected["sd"], rel=0.3)
