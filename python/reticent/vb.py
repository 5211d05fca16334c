"""Stochastic variational Bayes with expected statistics of your own, under differential privacy.

In a conjugate-exponential model a record has *expected sufficient statistics* given the present approximation of the global variables, and that approximation depends on
the records only by the sum of these statistics. You write the statistics of a row (the E-step) and what follows from their sum (the M-step); `fit` releases
noisy sums of clipped statistics through a `reticent.query.Wall`, and averages them.

Two clusters on a line, with known weights and variance 1; the state is the means of both:

>>> import numpy as np
>>> from reticent import query, vb
>>> def statistics(rows, means):
...     odds = np.exp(-0.5 * (rows - means) ** 2)
...     share = odds / odds.sum(axis=1, keepdims=True)
...     return np.hstack([share, share * rows])
>>> def maximise(expected, means):
...     counts, totals = np.split(expected.values, 2)
...     return totals / np.maximum(counts, 1.0)
>>> plan = query.Plan(records=10_000)
>>> sums = plan.sums("cluster statistics", width=4, norm=3.5, steps=8)
>>> rng = np.random.default_rng(1)
>>> rows = np.where(rng.random(10_000) < 0.5, rng.normal(-2, 1, 10_000), rng.normal(2, 1, 10_000))[:, None]
>>> with query.Wall(rows, plan, epsilon=1, delta=1e-6) as wall:
...     fit = vb.fit(wall, sums, query.Query(statistics, vectorised=True), maximise, np.array([-1.0, 1.0]))
>>> bool(np.abs(fit.state - [-2, 2]).max() < 0.2)
True

Notes
-----
**Privacy** is that of the wall: see `reticent.query`. All blocks of statistics are one contribution, clipped once: `blocks` of `Plan.sums` makes their
units comparable. The average and the M-step are post-processing.

References
----------
Park, Foulds, Chaudhuri, Welling, "Variational Bayes in private settings (VIPS)", JAIR 2020. Hoffman, Blei, Wang, Paisley, "Stochastic variational inference",
JMLR 2013.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._errors import SettingsError
from .query import Query, Sums, Wall

__all__ = ["ExpectedSums", "Fit", "fit"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ExpectedSums:
    """Noisy estimates of the sums of expected statistics over all records."""

    #: The public number of records.
    records: int
    #: The sums.
    values: Array
    #: Variance of the privacy noise in each of them. Noises are independent.
    noise_variance: Array


@dataclass(frozen=True)
class Fit:
    """What variational Bayes has found."""

    #: What the last M-step has returned.
    state: Any
    #: The sums that it was computed from.
    expected: ExpectedSums


_STEP_SIZES: dict[str, Callable[[int], float]] = {
    "full": lambda step: 1.0,
    "average": lambda step: 1.0 / step,
    "linear": lambda step: 2.0 / (step + 1.0),
}


def fit(
    wall: Wall,
    sums: Sums,
    statistics: Query | Callable[[Array, Any], ArrayLike],
    maximise: Callable[[ExpectedSums, Any], Any],
    state: Any,
    *,
    step_size: Literal["linear", "average", "full"] | Callable[[int], float] = "linear",
    observe: Callable[[int, Any], None] | None = None,
) -> Fit:
    """Run variational Bayes, with all releases that were planned.

    A step moves the estimate of the sums a share of the way to the released sum, times the number of records over the expected size of the sample, and calls the
    M-step.

    Parameters
    ----------
    wall
        The records.
    sums
        The releases.
    statistics
        ``statistics(row, state)`` returns the expected sufficient statistics of a row: a pure function of both, as all queries. A `Query` may be vectorised.
    maximise
        ``maximise(expected, state)`` returns the next state. It gets public values alone, and their noise: sums that noise has moved out of
        their domain, such as negative counts, are for it to correct.
    state
        The state that the first statistics are computed at. It must be public.
    step_size
        The share of a step, from the number of the step, from 1. The first one is 1. ``"linear"`` is an average in which the weight of a release is proportional to
        its number, ``"average"`` has equal weights, and ``"full"`` keeps the last release alone.
    observe
        Called with the number of each step and the state after it.

    Returns
    -------
    Fit
    """
    size = _STEP_SIZES.get(step_size) if isinstance(step_size, str) else step_size
    if size is None:
        raise SettingsError(f"`step_size` is a function, or one of {', '.join(_STEP_SIZES)}", "leave it out")
    query = statistics if isinstance(statistics, Query) else Query(statistics)
    records = wall.plan.records
    values: Array | float = 0.0
    variance: Array | float = 0.0
    for step in range(1, sums.steps + 1):
        released = wall.sum(sums, query, state)
        share = 1.0 if step == 1 else float(size(step))
        by = share * records / released.expected_batch
        values = (1.0 - share) * values + by * released.values
        variance = (1.0 - share) ** 2 * variance + (by * released.noise_sd) ** 2
        expected = ExpectedSums(records, np.asarray(values), np.asarray(variance))
        state = maximise(expected, state)
        if observe is not None:
            observe(step, state)
    return Fit(state, expected)
