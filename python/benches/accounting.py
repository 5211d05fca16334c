"""Examples of dp-accounting, by its accountants and by `reticent.accounting`, in one run.

Every event is built by dp-accounting and converted. Two methods are compared: Renyi DP, and privacy loss distributions
(PLD; here the method "auto", which is exact for a Gaussian release). The table shows the figures, the CPU time of a
call (median) and the factor by which `reticent.accounting` is faster. Its figures are upper bounds; for PLD the lower
bound is in parentheses. The program fails if an upper bound exceeds the figure of dp-accounting by more than 0.02 %:
brackets are up to 0.015 % wide.

    python python/benches/accounting.py

Needs dp-accounting. Times of builds without `--release` are several times longer.
"""

from __future__ import annotations

import logging
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import dp_accounting as dp
from dp_accounting import pld, rdp
from reticent.accounting import Adjacency, Method, NoiseOver, UnsupportedError, calibrate, from_dp_accounting

ADD, REPLACE = dp.NeighboringRelation.ADD_OR_REMOVE_ONE, dp.NeighboringRelation.REPLACE_ONE
Quantity = Literal["epsilon", "delta", "noise"]


@dataclass(frozen=True)
class Example:
    """A figure of dp-accounting: epsilon at a delta, delta at an epsilon, or the noise multiplier for both."""

    name: str
    event: Callable[[float], Any]
    quantity: Quantity = "epsilon"
    epsilon: float = 1.0
    delta: float = 1e-5
    adjacency: Adjacency = "add-remove"
    # The meaning of a noise multiplier in the accountant of dp-accounting.
    noise_over: NoiseOver = "norm"

    def ours(self, method: Method) -> tuple[float, float]:
        """The upper and the lower bound."""

        def event(noise: float) -> Any:
            return from_dp_accounting(self.event(noise), adjacency=self.adjacency, noise_over=self.noise_over)

        if self.quantity == "noise":
            return calibrate(event, epsilon=self.epsilon, delta=self.delta, method=method), 0.0
        if self.quantity == "delta":
            bracket = event(1.0).delta(self.epsilon, method=method)
            return bracket.upper, bracket.lower
        cost = event(1.0).cost(self.delta, method=method)
        return cost.epsilon, cost.lower

    def theirs(self, make: Callable[[Any], Any]) -> float:
        relation = ADD if self.adjacency == "add-remove" else REPLACE
        if self.quantity == "noise":
            bracket = dp.ExplicitBracketInterval(0.4, 100)
            return float(
                dp.calibrate_dp_mechanism(
                    lambda: make(relation), self.event, self.epsilon, self.delta, bracket, tol=1e-5
                )
            )
        accountant = make(relation).compose(self.event(1.0))
        return float(
            accountant.get_delta(self.epsilon) if self.quantity == "delta" else accountant.get_epsilon(self.delta)
        )


def gaussian(noise: float) -> Any:
    return dp.GaussianDpEvent(noise)


def laplace(noise: float) -> Any:
    return dp.LaplaceDpEvent(noise)


def times(event: Any, count: int) -> Any:
    return dp.SelfComposedDpEvent(event, count)


def dp_sgd(noise: float, records: int, batch: int, epochs: int) -> Any:
    return times(dp.PoissonSampledDpEvent(batch / records, gaussian(noise)), epochs * records // batch)


def two_laplace(_: float) -> Any:
    return dp.ComposedDpEvent([times(laplace(1.0), 3), times(laplace(2.0), 2)])


EXAMPLES = [
    Example("one Gaussian release (overview)", lambda _: gaussian(2.0)),
    Example("40 Laplace releases (basic example)", lambda _: times(laplace(3.0), 40), "delta", epsilon=10.0),
    Example(
        "the same and a Gaussian (basic example)",
        lambda _: dp.ComposedDpEvent([times(laplace(3.0), 40), gaussian(5.0)]),
        "delta",
        epsilon=10.0,
    ),
    Example("3 + 2 Laplace releases (tests)", two_laplace, delta=1e-6),
    Example("3 Poisson samples (tests)", lambda _: times(dp.PoissonSampledDpEvent(0.2, gaussian(0.5)), 3), "delta"),
    Example("3 Poisson samples, Laplace (tests)", lambda _: times(dp.PoissonSampledDpEvent(0.2, laplace(0.5)), 3)),
    Example("DP-SGD: noise 1.1, batch 256, 60 epochs", lambda _: dp_sgd(1.1, 60_000, 256, 60)),
    Example("DP-SGD: noise 1.3, batch 250, 15 epochs", lambda _: dp_sgd(1.3, 60_000, 250, 15)),
    Example("DP-SGD: noise 1.5, batch 1, 100 epochs", lambda _: dp_sgd(1.5, 1000, 1, 100)),
    Example(
        "DP-SGD, replace-one",
        lambda _: dp_sgd(2.2, 60_000, 256, 60),
        adjacency="replace-one",
    ),
    Example(
        "batches of 256 without replacement",
        lambda _: times(dp.SampledWithoutReplacementDpEvent(60_000, 256, gaussian(1.1)), 14_062),
        adjacency="replace-one",
        noise_over="sensitivity",
    ),
    Example(
        "noise of 1 Poisson sample (tests)", lambda noise: dp.PoissonSampledDpEvent(0.01, gaussian(noise)), "noise"
    ),
    Example("noise of 500 Laplace releases (tests)", lambda noise: times(laplace(noise), 500), "noise", delta=1e-4),
    Example("noise of DP-SGD, 15 epochs, epsilon 1", lambda noise: dp_sgd(noise, 60_000, 250, 15), "noise"),
]


def measure(call: Callable[[], Any]) -> tuple[Any, float]:
    """The result and the CPU seconds of a call, after one to warm up: the median of up to five within a second."""
    value = call()
    seconds: list[float] = []
    while len(seconds) < 5 and sum(seconds) < 1.0:
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return value, statistics.median(seconds)


def main() -> int:
    """Print the table; 1 if a figure of dp-accounting is tighter."""
    warnings.filterwarnings("ignore")
    logging.getLogger("absl").setLevel(logging.ERROR)
    methods: list[tuple[Method, Callable[[Any], Any]]] = [
        ("rdp", lambda relation: rdp.RdpAccountant(neighboring_relation=relation)),
        ("auto", lambda relation: pld.PLDAccountant(neighboring_relation=relation)),
    ]
    half = f"{'dp-accounting':^20}{'reticent.accounting':^31}{'':9}"
    print(f"{'':40}{'Renyi DP':^60}{'PLD':^60}\n{'':40}{half}{half}")
    exceeded = 0
    for example in EXAMPLES:
        cells = ""
        for method, make in methods:
            try:
                theirs, their_time = measure(lambda: example.theirs(make))
            except dp.UnsupportedEventError:
                cells, their_time = f"{cells}{'-':>11}{'':9}", 0.0
            else:
                cells += f"{theirs:>11.5g}{1e3 * their_time:>9.2f}"
            try:
                (upper, lower), our_time = measure(lambda: example.ours(method))
            except UnsupportedError:
                cells += f"{'-':>11}{'':29}"
                continue
            exceeded += bool(their_time) and upper > theirs * (1 + 2e-4)
            bracket = f"({lower:.5g})" if lower else ""
            ratio = f"{their_time / our_time:.1f}x" if their_time else ""
            cells += f"{upper:>11.5g} {bracket:<12}{1e3 * our_time:>8.2f}{ratio:>8}"
        print(f"{example.name:<40}{cells} {example.quantity}", flush=True)
    if exceeded:
        print(f"{exceeded} figures of dp-accounting are tighter")
    return min(exceeded, 1)


if __name__ == "__main__":
    sys.exit(main())
