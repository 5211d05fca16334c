"""Tests of `reticent.accounting`."""

from __future__ import annotations

import copy
import doctest
import json
import math
import os
import pickle
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reticent.accounting as acc
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reticent.accounting import (
    AccountingError,
    ArgumentError,
    ConversionError,
    Cost,
    Event,
    UnreachableError,
    UnsupportedError,
    bounded_range,
    calibrate,
    calibrate_steps,
    compare,
    compose,
    fixed,
    from_dp_accounting,
    gaussian,
    laplace,
    poisson,
    pure,
    shuffled,
    to_dp_accounting,
)

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "reference"
REFERENCE = Path(os.environ.get("RETICENT_REFERENCE", BESIDE)) / "accounting.json"
FACTORIES = [gaussian, laplace, pure, bounded_range]

# Values

samplings = st.one_of(
    st.none(),
    st.floats(1e-4, 1.0).map(poisson),
    st.tuples(st.integers(1, 50), st.integers(50, 10_000)).map(lambda sizes: fixed(*sizes)),
    st.just(shuffled()),
)
releases = st.builds(
    lambda make, value, sampling: make(value, sampling), st.sampled_from(FACTORIES), st.floats(0.5, 20.0), samplings
)
events = st.lists(st.tuples(st.integers(1, 50), releases), max_size=4).map(
    lambda parts: compose(n * event for n, event in parts)
)


@given(events, events, events, st.integers(0, 5), st.integers(0, 5))
def test_events_form_a_module_over_counts(a: Event, b: Event, c: Event, m: int, n: int) -> None:
    assert a + b == b + a and hash(a + b) == hash(b + a)
    assert (a + b) + c == a + (b + c) == sum([a, b, c]) == compose([a, b, c])
    assert n * (a + b) == n * a + n * b and (m + n) * a == m * a + n * a and m * (n * a) == (m * n) * a == a * n * m
    assert 0 * a == compose([]) == Event() and 1 * a == a == a + compose([])


@given(events)
def test_events_are_values(event: Event) -> None:
    assert eval(repr(event), vars(acc).copy()) == event
    assert pickle.loads(pickle.dumps(event)) == event == copy.deepcopy(event)
    limited = event.under("replace-one")
    assert eval(repr(limited), vars(acc).copy()) == limited != event
    with pytest.raises(AttributeError):
        event.releases = ()  # type: ignore[misc]


def test_numbers_of_numpy_are_numbers() -> None:
    assert np.int64(3) * gaussian(np.float32(2.0)) == 3 * gaussian(2) == gaussian(np.float64(2.0)) * np.int32(3)
    with pytest.raises(ArgumentError):
        np.arange(3) * gaussian(1.0)


# Wrong arguments

NOT_NUMBERS = [
    True,
    "1",
    None,
    math.nan,
    math.inf,
    -math.inf,
    -1.0,
    0.0,
    10**400,
    [1.0],
    1j,
    np.array([1.0]),
    5e-324,
    1e300,
]


@pytest.mark.parametrize("wrong", NOT_NUMBERS, ids=str)
def test_parameters_of_events_are_checked(wrong: Any) -> None:
    for make in [*FACTORIES, poisson]:
        with pytest.raises(ArgumentError):
            make(wrong)


def test_wrong_arguments_are_value_errors() -> None:
    event = gaussian(1.0, poisson(0.1))
    wrong = [
        lambda: poisson(1.5),
        lambda: fixed(0, 10),
        lambda: fixed(11, 10),
        lambda: fixed(1.0, 10),  # type: ignore[arg-type]
        lambda: fixed(True, 10),
        lambda: gaussian(1.0, 0.1),  # type: ignore[arg-type]
        lambda: 2**41 * event,
        lambda: 2**30 * (2**30 * event),
        lambda: 2**40 * event + event,
        lambda: -1 * event,
        lambda: True * event,
        lambda: 1.5 * event,  # type: ignore[operator]
        lambda: "2" * event,  # type: ignore[operator]
        lambda: event.cost(1e-5),
        lambda: event.cost(1e-5, adjacency="add/remove"),  # type: ignore[arg-type]
        lambda: event.cost(1e-5, adjacency="add-remove", method="best"),  # type: ignore[arg-type]
        lambda: event.cost(1e-5, adjacency="add-remove", method=None),  # type: ignore[arg-type]
        lambda: event.cost(1.0, adjacency="add-remove"),
        lambda: event.cost(math.nan, adjacency="add-remove"),
        lambda: event.cost(True, adjacency="add-remove"),
        lambda: event.delta(-1.0, adjacency="add-remove"),
        lambda: event.delta(math.inf, adjacency="add-remove"),
        lambda: compare(event, 1e-5),
        lambda: compare(event, 2.0, adjacency="add-remove"),
        lambda: compose([event, 1]),  # type: ignore[list-item]
        lambda: Event((("gaussian", 1),)),  # type: ignore[arg-type]
        lambda: calibrate_steps(compose([]), epsilon=1, delta=1e-5, adjacency="add-remove"),
        lambda: calibrate(event, epsilon=1, delta=1e-5, adjacency="add-remove"),  # type: ignore[arg-type]
        lambda: calibrate(float, epsilon=1, delta=1e-5, adjacency="add-remove"),  # type: ignore[arg-type]
        lambda: calibrate(gaussian, epsilon=1, delta=1e-5),
        lambda: calibrate(gaussian, epsilon=0, delta=1e-5, adjacency="add-remove"),
        lambda: event.under("add-remove").cost(1e-5, adjacency="replace-one"),
        lambda: event.under("add-remove") + event.under("replace-one"),
        lambda: calibrate(
            lambda noise: gaussian(noise).under("add-remove"), epsilon=1, delta=1e-5, adjacency="replace-one"
        ),
    ]
    for number, call in enumerate(wrong):
        with pytest.raises(ArgumentError):
            print(number, call())
    with pytest.raises(TypeError):
        event + "x"  # type: ignore[operator]


anything = st.one_of(
    st.none(),
    st.booleans(),
    st.text(max_size=5),
    st.floats(),
    st.integers(),
    st.binary(max_size=3),
    st.lists(st.integers(), max_size=2),
)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_random_arguments_give_costs_or_clear_errors(data: st.DataObject) -> None:
    def draw(usual: Any) -> Any:
        return data.draw(st.one_of(st.just(usual), st.just(usual), anything))

    try:
        sampling = data.draw(st.sampled_from([None, poisson, fixed]))
        if sampling is poisson:
            sampling = poisson(draw(0.1))
        elif sampling is fixed:
            sampling = fixed(draw(2), draw(100))
        event = draw(7) * data.draw(st.sampled_from(FACTORIES))(draw(3.0), sampling)
        adjacency = draw("replace-one" if data.draw(st.booleans()) else "add-remove")
        cost = event.cost(draw(1e-5), adjacency=adjacency, method=draw("rdp" if data.draw(st.booleans()) else "auto"))
        assert 0.0 <= cost.lower <= cost.epsilon
    except AccountingError as error:
        assert str(error)
    except TypeError as error:
        # `7 * event` is never tried where both sides have no such operator.
        assert "operand" in str(error) or "sequence" in str(error)


# Costs


def test_cost_has_a_bracket_and_names_its_method() -> None:
    cost = (1000 * gaussian(1.5, poisson(0.01))).cost(1e-5, adjacency="add-remove")
    assert 0 < cost.lower <= cost.epsilon <= 1.001 * cost.lower
    assert (cost.delta, cost.adjacency, cost.method) == (1e-5, "add-remove", "pld")
    assert pickle.loads(pickle.dumps(cost)) == cost and hash(cost) == hash(copy.copy(cost))
    # Printed, it may not look smaller than it is.
    assert float(str(cost).split(",")[0].split()[1]) >= cost.epsilon


def test_sampling_and_adjacency_must_fit() -> None:
    for sampling in [fixed(1, 10), shuffled()]:
        with pytest.raises(UnsupportedError, match="replace-one"):
            gaussian(1.0, sampling).cost(1e-5, adjacency="add-remove")
    with pytest.raises(UnsupportedError, match="pld"):
        gaussian(1.0, poisson(0.1)).cost(1e-5, adjacency="replace-one", method="rdp")


def test_delta_zero_is_the_sum_of_pure_releases() -> None:
    event = 3 * laplace(2.0) + pure(0.25) + 2 * bounded_range(0.5, shuffled())
    assert event.cost(0.0, adjacency="replace-one").epsilon == pytest.approx(2.75)


@given(releases, st.integers(1, 300), st.floats(1.01, 3.0))
@settings(max_examples=15, deadline=None)
def test_cost_falls_with_noise_and_delta_and_grows_with_repetitions(event: Event, times: int, factor: float) -> None:
    ((release, _),) = event.releases
    adjacency = "replace-one" if release.sampling and release.sampling.scheme != "poisson" else "add-remove"

    def cost(parameter: float, n: int, delta: float) -> Cost:
        make = dict(gaussian=gaussian, laplace=laplace, pure=pure, bounded_range=bounded_range)[release.mechanism]
        return (n * make(parameter, release.sampling)).cost(delta, adjacency=adjacency)

    here = cost(release.parameter, times, 1e-5)
    if release.mechanism in ("gaussian", "laplace"):
        less_noise, more_noise = release.parameter / factor, release.parameter * factor
    else:
        less_noise, more_noise = min(20.0, release.parameter * factor), release.parameter / factor
    # A lower bound of the greater cost is not above an upper bound of the smaller one, so compare bounds crosswise.
    assert cost(more_noise, times, 1e-5).lower <= here.epsilon and here.lower <= cost(less_noise, times, 1e-5).epsilon
    assert cost(release.parameter, times, 1e-4).lower <= here.epsilon
    assert here.lower <= cost(release.parameter, 2 * times, 1e-5).epsilon


@given(st.lists(st.tuples(st.integers(1, 100), releases), min_size=1, max_size=3), st.randoms())
@settings(max_examples=15, deadline=None)
def test_order_of_composition_does_not_change_the_cost(parts: list[tuple[int, Event]], random: Any) -> None:
    terms = [n * event for n, event in parts]
    shuffled_terms = random.sample(terms, len(terms))
    schemes = {release.sampling.scheme for term in terms for release, _ in term.releases if release.sampling}
    adjacency = "replace-one" if schemes - {"poisson"} else "add-remove"
    try:
        one, other = (
            sum(order, Event()).cost(1e-6, adjacency=adjacency, method="pld") for order in (terms, shuffled_terms)
        )
    except AccountingError:
        return
    assert one.lower <= other.epsilon and other.lower <= one.epsilon
    assert one.epsilon == pytest.approx(other.epsilon, rel=5e-3) or math.isinf(one.epsilon)


def test_compare_prices_by_every_method() -> None:
    run = 500 * gaussian(1.0, fixed(10, 1000))
    costs = compare(run, 1e-5, adjacency="replace-one")
    assert list(costs) == ["exact", "pld", "rdp", "wang9", "wang27", "zcdp", "composition"]
    epsilons = {method: cost.epsilon for method, cost in costs.items() if isinstance(cost, Cost)}
    assert epsilons["pld"] < epsilons["rdp"] == epsilons["wang27"] <= epsilons["wang9"]
    assert isinstance(costs["exact"], UnsupportedError)
    assert "wang9" not in compare(gaussian(1.0), 1e-5, adjacency="replace-one")


def test_other_threads_run_while_an_event_is_priced() -> None:
    done = threading.Event()
    ticks = 0

    def price() -> None:
        for rate in np.linspace(0.01, 0.02, 3):
            (1000 * gaussian(1.0, poisson(rate))).cost(1e-6, adjacency="add-remove")
        done.set()

    thread = threading.Thread(target=price)
    thread.start()
    while not done.is_set():
        time.sleep(0.001)
        ticks += 1
    thread.join()
    # With the lock held, this thread would run between two costs at most.
    assert ticks > 5


# Calibration


@pytest.mark.parametrize(
    ("event", "adjacency"),
    [
        (gaussian, "add-remove"),
        (laplace, "replace-one"),
        (lambda noise: 100 * gaussian(noise, poisson(0.01)) + gaussian(30.0), "add-remove"),
        (lambda noise: 10 * gaussian(noise, fixed(5, 500)) + laplace(10 * noise), "replace-one"),
    ],
)
def test_calibrated_noise_meets_the_target_and_a_little_less_does_not(event: Any, adjacency: acc.Adjacency) -> None:
    for epsilon in [0.5, 2.0]:
        noise = calibrate(event, epsilon=epsilon, delta=1e-5, adjacency=adjacency)
        assert event(noise).cost(1e-5, adjacency=adjacency).epsilon <= epsilon
        assert event(noise * 0.995).cost(1e-5, adjacency=adjacency).epsilon > epsilon


def test_errors_of_the_function_that_is_calibrated_pass_through() -> None:
    calls = 0

    def fails_later(noise: float) -> Event:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyError("unrelated")
        return gaussian(noise)

    with pytest.raises(KeyError, match="unrelated"):
        calibrate(fails_later, epsilon=1, delta=1e-5, adjacency="add-remove")
    assert calls == 3


def test_targets_out_of_reach_are_errors() -> None:
    for event in (lambda noise: gaussian(1.0), lambda noise: pure(min(noise, 20.0)) + laplace(2.0)):
        with pytest.raises(UnreachableError):
            calibrate(event, epsilon=0.1, delta=1e-5, adjacency="add-remove")


def test_calibration_follows_the_adjacency_of_the_event() -> None:
    noise = calibrate(lambda noise: gaussian(noise).under("add-remove"), epsilon=1, delta=1e-5)
    assert noise == calibrate(gaussian, epsilon=1, delta=1e-5, adjacency="replace-one")


def test_steps_is_the_maximum_within_the_target() -> None:
    step = gaussian(2.0, poisson(0.01))
    steps = calibrate_steps(step, epsilon=1, delta=1e-5, adjacency="add-remove", method="rdp")
    cost = [(n * step).cost(1e-5, adjacency="add-remove", method="rdp").epsilon for n in (steps, steps + 1)]
    assert cost[0] <= 1 < cost[1]
    assert calibrate_steps(gaussian(0.1), epsilon=1, delta=1e-5, adjacency="add-remove") == 0
    assert calibrate_steps(5 * gaussian(1e9), epsilon=1, delta=0.1, adjacency="add-remove") == acc.MAX_RELEASES // 5


# Reference figures


def reference(**wanted: str) -> list[dict[str, Any]]:
    if not REFERENCE.exists():
        pytest.skip(f"no reference figures at {REFERENCE}: set RETICENT_REFERENCE to their folder")
    records = json.loads(REFERENCE.read_text())
    return [r for r in records if all(str(r.get(key, "")).startswith(value) for key, value in wanted.items())]


def error(record: dict[str, Any], value: float) -> float:
    """How far `value` exceeds the figure, over its tolerance."""
    scale = abs(record["value"]) if record["tolerance_kind"] == "rel" else 1.0
    return (value - record["value"]) / (record["tolerance"] * scale)


def test_gaussian_mechanism_agrees_with_exact_figures() -> None:
    records = reference(section="a", mechanism="gaussian", bound="exact")
    for record in records:
        p = record["params"]
        if record["quantity"] == "epsilon":
            value = (int(p["steps"]) * gaussian(p["sigma"])).cost(p["delta"], adjacency="replace-one").epsilon
        elif record["quantity"] == "delta":
            value = (int(p["steps"]) * gaussian(p["sigma"])).delta(p["epsilon"], adjacency="add-remove").upper
        else:
            steps = int(p["steps"])
            value = calibrate(
                lambda noise: steps * gaussian(noise), epsilon=p["epsilon"], delta=p["delta"], adjacency="add-remove"
            )
            record = {**record, "tolerance": 2e-6}
        assert abs(error(record, value)) <= 1, record["id"]
    assert len(records) > 100


def test_poisson_sampling_lies_between_reference_bounds() -> None:
    records = [
        r
        for r in reference(section="c", sampling="Poisson", quantity="epsilon")
        if r["bound"] in ("upper", "lower", "exact") and r["params"]["steps"] <= 10_000
    ][::5]
    for record in records:
        p = record["params"]
        cost = (int(p["steps"]) * gaussian(p["sigma"], poisson(p["q"]))).cost(p["delta"], adjacency="add-remove")
        if record["bound"] != "lower":
            assert error(record, cost.lower) <= 1, record["id"]
        if record["bound"] != "upper":
            assert error(record, cost.epsilon) >= -1, record["id"]
    assert len(records) > 30


def test_fixed_size_sampling_agrees_with_the_theorems() -> None:
    records = [
        r
        for r in reference(
            section="b", quantity="epsilon", bound="upper", conversion="improved", theorem="WBK19 Thm 27"
        )
        if r["params"].get("batch", 1) == int(r["params"].get("batch", 1))
    ][::6]
    for record in records:
        p = record["params"]
        records_ = p.get("N", round(1 / p["q"]))
        event = int(p["steps"]) * gaussian(
            p["sigma"], fixed(int(p.get("batch", round(p["q"] * records_))), int(records_))
        )
        # Its orders include those of the figures, up to 256, and it takes the minimum with the unamplified mechanism.
        assert error(record, event.cost(p["delta"], adjacency="replace-one", method="wang27").epsilon) <= 1e3, record[
            "id"
        ]
        assert event.cost(p["delta"], adjacency="replace-one").lower <= record["value"] * (1 + 1e-6), record["id"]
    assert len(records) > 5


def test_pure_composition_agrees_with_optimal_figures() -> None:
    records = reference(section="e", mechanism="any", bound="exact", quantity="epsilon")
    for record in records:
        p = record["params"]
        if p["delta0"] or not p["delta"]:
            continue
        event = int(p["steps"]) * pure(p["epsilon0"])
        value = event.cost(p["delta"], adjacency="replace-one", method="composition").epsilon
        assert value == pytest.approx(record["value"], rel=1e-6), record["id"]
    assert records


# Conversion


@pytest.fixture(scope="module")
def dp() -> Any:
    return pytest.importorskip("dp_accounting", reason="dp-accounting is not installed")


convertible = st.builds(
    lambda make, value, sampling: make(value, sampling),
    st.sampled_from([gaussian, laplace, pure]),
    st.floats(0.5, 20.0),
    st.one_of(
        st.none(),
        st.floats(1e-4, 1.0).map(poisson),
        st.tuples(st.integers(1, 50), st.integers(50, 10_000)).map(lambda s: fixed(*s)),
    ),
)


@given(st.lists(st.tuples(st.integers(1, 50), convertible), max_size=4))
def test_conversion_and_back_is_the_identity(dp: Any, parts: list[tuple[int, Event]]) -> None:
    # Rounding up at the largest epsilon leaves the domain.
    assume(all(part.releases[0][0].parameter < 20.0 for _, part in parts if part.releases[0][0].mechanism == "pure"))
    event = compose(n * part for n, part in parts)
    for adjacency, noise_over in [("add-remove", None), ("replace-one", "norm"), ("replace-one", "sensitivity")]:
        there = to_dp_accounting(event, adjacency=adjacency, noise_over=noise_over)  # type: ignore[arg-type]
        back = from_dp_accounting(there, adjacency=adjacency, noise_over=noise_over or "norm")  # type: ignore[arg-type]
        assert back.adjacency == adjacency
        if all(release.mechanism != "pure" for release, _ in event.releases):
            assert back == event.under(adjacency)  # type: ignore[arg-type]
            continue
        for (one, n), (other, m) in zip(event.releases, back.releases):
            # Randomised response has its epsilon up to rounding, never less.
            assert (one.mechanism, one.sampling, n) == (other.mechanism, other.sampling, m)
            assert one.parameter <= other.parameter <= one.parameter * (1 + 1e-9)


def test_noise_multipliers_keep_their_meaning(dp: Any) -> None:
    event = dp.GaussianDpEvent(2.0)
    relation = dp.NeighboringRelation
    pld = {
        "add-remove": dp.pld.PLDAccountant(relation.ADD_OR_REMOVE_ONE),
        "replace-one": dp.pld.PLDAccountant(relation.REPLACE_ONE),
    }
    for adjacency, accountant in pld.items():
        ours = from_dp_accounting(event, adjacency=adjacency).cost(1e-5).epsilon  # type: ignore[arg-type]
        assert ours == pytest.approx(accountant.compose(event).get_epsilon(1e-5), rel=1e-3)
    # One accountant takes the noise multiplier as relative to the sensitivity. Which one is meant must be stated.
    rdp = dp.rdp.RdpAccountant(neighboring_relation=relation.REPLACE_ONE).compose(event).get_epsilon(1e-5)
    assert from_dp_accounting(event, adjacency="replace-one", noise_over="sensitivity").cost(
        1e-5, method="rdp"
    ).epsilon == pytest.approx(rdp, rel=1e-2)
    for release in (gaussian(2.0), laplace(2.0)):
        with pytest.raises(ConversionError, match="noise_over"):
            to_dp_accounting(release, adjacency="replace-one")


def test_poisson_sampling_under_replace_one_has_the_pair_of_pld(dp: Any) -> None:
    event = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(2.0)), 100)
    theirs = dp.pld.PLDAccountant(dp.NeighboringRelation.REPLACE_ONE).compose(event).get_epsilon(1e-5)
    cost = from_dp_accounting(event, adjacency="replace-one").cost(1e-5)
    assert cost.lower <= theirs and cost.epsilon == pytest.approx(theirs, rel=2e-3)


def test_special_events_are_converted_on_the_safe_side(dp: Any) -> None:
    dp = dp.dp_event
    assert from_dp_accounting(dp.NoOpDpEvent(), adjacency="add-remove").releases == ()
    assert from_dp_accounting(dp.PoissonSampledDpEvent(0, dp.GaussianDpEvent(0)), adjacency="add-remove").releases == ()
    # Two Gaussian releases on one sample.
    inner = dp.ComposedDpEvent([dp.GaussianDpEvent(3.0), dp.SelfComposedDpEvent(dp.GaussianDpEvent(4.0), 1)])
    ((release, _),) = from_dp_accounting(dp.PoissonSampledDpEvent(0.1, inner), adjacency="add-remove").releases
    assert release.parameter <= 2.4 and release.parameter == pytest.approx(2.4)
    # The largest loss of discrete Laplace noise, and of randomised response.
    discrete = dp.DiscreteLaplaceDpEvent(0.5, 3)
    assert from_dp_accounting(discrete, adjacency="add-remove").releases[0][0].parameter == pytest.approx(1.5)
    assert from_dp_accounting(discrete, adjacency="replace-one").releases[0][0].parameter == pytest.approx(3.0)
    response = dp.RandomizedResponseDpEvent(4 / (3 + math.e), 4)
    assert from_dp_accounting(response, adjacency="replace-one").releases[0][0].parameter == pytest.approx(1.0)
    # Deep trees.
    deep = dp.GaussianDpEvent(1.0)
    for _ in range(5000):
        deep = dp.SelfComposedDpEvent(dp.ComposedDpEvent([deep]), 1)
    assert from_dp_accounting(deep, adjacency="add-remove") == gaussian(1.0).under("add-remove")


def newer_event(name: str, **fields: Any) -> Any:
    """An event that the latest release of dp-accounting does not have yet."""
    return type(name, (), {"__module__": "dp_accounting.dp_event", **fields})()


def test_events_of_newer_versions_are_known(dp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {
        "ExponentialMechanismDpEvent": bounded_range(0.5),
        "PermuteAndFlipDpEvent": pure(0.5),
        "EpsilonDeltaDpEvent": pure(0.5),
    }
    for name, expected in known.items():
        event = newer_event(name, epsilon=0.5, delta=0.0)
        assert from_dp_accounting(event, adjacency="replace-one") == expected.under("replace-one")
    with pytest.raises(ConversionError):
        from_dp_accounting(newer_event("EpsilonDeltaDpEvent", epsilon=0.5, delta=1e-9), adjacency="add-remove")
    with pytest.raises(ConversionError, match="exponential"):
        to_dp_accounting(bounded_range(0.5), adjacency="add-remove")
    made = {
        name: lambda *fields, name=name: (name, *fields)
        for name in ("ExponentialMechanismDpEvent", "EpsilonDeltaDpEvent")
    }
    for name, make in made.items():
        monkeypatch.setattr(dp.dp_event, name, make, raising=False)
    assert to_dp_accounting(bounded_range(0.5), adjacency="add-remove") == ("ExponentialMechanismDpEvent", 0.5)
    assert to_dp_accounting(pure(0.5), adjacency="replace-one") == ("EpsilonDeltaDpEvent", 0.5, 0.0)


def test_what_has_no_equivalent_is_an_error(dp: Any) -> None:
    dp = dp.dp_event
    gauss = dp.GaussianDpEvent(1.0)
    poisson_sample = dp.PoissonSampledDpEvent(0.1, gauss)

    class Derived(dp.GaussianDpEvent):  # type: ignore[misc, name-defined]
        pass

    for event in [
        3,
        gaussian(1.0),
        Derived(1.0),
        dp.NonPrivateDpEvent(),
        dp.UnsupportedDpEvent(),
        dp.ZCDpEvent(0.1),
        dp.GaussianDpEvent(0),
        dp.RandomizedResponseDpEvent(0.5, 2),
        dp.SampledWithReplacementDpEvent(10, 1, gauss),
        dp.SingleEpochTreeAggregationDpEvent(1.0, 4),
        dp.RepeatAndSelectDpEvent(gauss, 2, 1),
        dp.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0], [0.5, 0.5]),
        dp.PoissonSampledDpEvent(0.1, poisson_sample),
        dp.PoissonSampledDpEvent(0.1, dp.ComposedDpEvent([gauss, dp.LaplaceDpEvent(1.0)])),
        dp.SelfComposedDpEvent(gauss, -1),
        dp.SelfComposedDpEvent(gauss, 2**60),
    ]:
        with pytest.raises((ConversionError, ArgumentError)):
            from_dp_accounting(event, adjacency="add-remove")
    with pytest.raises(ConversionError):
        from_dp_accounting(dp.PoissonSampledDpEvent(0.1, dp.SelfComposedDpEvent(gauss, 2)), adjacency="replace-one")
    with pytest.raises(ConversionError):
        to_dp_accounting(gaussian(1.0, shuffled()), adjacency="add-remove")
    with pytest.raises(ArgumentError):
        from_dp_accounting(gauss, adjacency="replace-special")  # type: ignore[arg-type]


# Documentation


def test_examples_in_docstrings_run() -> None:
    # Doctests of conversion need dp-accounting.
    results = doctest.testmod(acc, verbose=False)
    assert results.attempted > 20 and results.failed == 0


def test_everything_public_is_documented() -> None:
    for name in acc.__all__:
        value = getattr(acc, name)
        assert not hasattr(value, "__module__") or value.__module__ == "typing" or value.__doc__, name
    assert sys.modules["reticent.accounting"].__doc__
