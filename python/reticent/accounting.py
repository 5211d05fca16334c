"""The privacy cost of releases: epsilon at delta, with a bracket.

An `Event` describes releases: `gaussian`, `laplace`, `pure` or `bounded_range` noise, on all records or on
records chosen by `poisson`, `fixed` or `shuffled` sampling. Events are values: ``a + b`` is both, ``1000 *
a`` is `a` a thousand times, each release possibly dependent on the results of those before it. `Event.cost`
computes epsilon at a delta, `Event.delta` delta at an epsilon, `calibrate` the noise that meets a target,
`calibrate_steps` the number of repetitions.

**Adjacency.** A cost holds for neighbouring data sets: ``"add-remove"`` (one record more or less) or
``"replace-one"`` (one record exchanged, their number public). There is no default, because the noise
multiplier depends on it. It is always *the standard deviation (Laplace: the scale) of the noise over the
sensitivity under that adjacency*. The sum of vectors clipped to norm C has sensitivity C under add-remove and
2 C under replace-one: noise of standard deviation s has multiplier s / C under the first and s / (2 C) under
the second.

**Brackets.** ``cost.epsilon`` is an upper bound, the guarantee. ``cost.lower`` is a lower bound for every sound
accountant that is based on the same dominating pairs of distributions; 0 where none is known.

Examples
--------
DP-SGD on 60,000 records with batches of 256, 60 epochs:

>>> from reticent.accounting import calibrate, gaussian, poisson
>>> training = 14_062 * gaussian(1.1, poisson(256 / 60_000))
>>> print(training.cost(1e-5, adjacency="add-remove"))
epsilon 2.3817, delta 1e-05, add-remove adjacency (pld)

The noise that makes it cost 1, after a noisy mean:

>>> both = lambda noise: 14_062 * gaussian(noise, poisson(256 / 60_000)) + gaussian(20.0)
>>> noise = calibrate(both, epsilon=1, delta=1e-5, adjacency="add-remove")
>>> both(noise).cost(1e-5, adjacency="add-remove").epsilon <= 1
True

| sampling | adjacency | methods |
|---|---|---|
| none | both | exact (Gaussian), pld, rdp, zcdp, composition (not Gaussian) |
| shuffled passes | replace-one | the same |
| Poisson | add-remove | pld, rdp (Gaussian) |
| Poisson | replace-one | pld (Gaussian) |
| fixed size | replace-one | pld, rdp, wang9, wang27 |
"""

from __future__ import annotations

import importlib
import math
import numbers
import operator
import reprlib
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, SupportsIndex, TypeAlias, TypeVar, get_args

__all__ = [
    "MAX_RELEASES",
    "AccountingError",
    "Adjacency",
    "ArgumentError",
    "Bracket",
    "ConversionError",
    "Cost",
    "Event",
    "Mechanism",
    "Method",
    "NoiseOver",
    "Release",
    "Sampling",
    "UnreachableError",
    "UnsupportedError",
    "bounded_range",
    "calibrate",
    "calibrate_steps",
    "compare",
    "compose",
    "fixed",
    "from_dp_accounting",
    "gaussian",
    "laplace",
    "poisson",
    "pure",
    "shuffled",
    "to_dp_accounting",
]

_native: Any = importlib.import_module("reticent._core").accounting

Adjacency: TypeAlias = Literal["add-remove", "replace-one"]
"""Which data sets are neighbours."""

Method: TypeAlias = Literal["auto", "exact", "pld", "rdp", "wang9", "wang27", "zcdp", "composition"]
"""An accountant; ``"auto"`` is the tightest one that applies."""

Mechanism: TypeAlias = Literal["gaussian", "laplace", "pure", "bounded_range"]
"""The noise of a release."""

MAX_RELEASES: Final = 2**40
"""The maximum number of releases in an event. Bounds on more of them suffer from rounding errors."""

# Noise multipliers, epsilons of releases and sampling rates outside these ranges have no useful cost. Pricing them takes
# long, and the bound on several releases of a larger epsilon suffers from rounding errors.
_NOISE: Final = (1e-3, 1e9)
_EPSILON: Final = (1e-9, 20.0)
_RATE: Final = (1e-12, 1.0)
_MAX: Final = sys.float_info.max


class AccountingError(ValueError):
    """No cost could be computed."""


class ArgumentError(AccountingError):
    """An argument is not in its domain."""


class UnsupportedError(AccountingError):
    """The method has no sound bound for this sampling under this adjacency. The message names one that has."""


class UnreachableError(AccountingError):
    """No noise multiplier meets the target."""


class ConversionError(AccountingError):
    """The event has no equivalent that costs at least as much."""


@dataclass(frozen=True, slots=True, repr=False)
class Sampling:
    """How the records of a release are chosen: made by `poisson`, `fixed` and `shuffled`.

    Attributes
    ----------
    scheme : str
        ``"poisson"``, ``"fixed"`` or ``"shuffled"``.
    rate : float
        The share of the records in one release.
    batch, records : int
        The sizes of batch and data set of fixed-size sampling, else 0.
    """

    scheme: Literal["poisson", "fixed", "shuffled"]
    rate: float = 1.0
    batch: int = 0
    records: int = 0

    def __repr__(self) -> str:
        arguments = {"poisson": repr(self.rate), "fixed": f"{self.batch}, {self.records}"}.get(self.scheme, "")
        return f"{self.scheme}({arguments})"


@dataclass(frozen=True, slots=True, repr=False)
class Release:
    """One release: a mechanism on records chosen by a sampling scheme (`None`: all records).

    Attributes
    ----------
    mechanism : str
        ``"gaussian"``, ``"laplace"``, ``"pure"`` or ``"bounded_range"``.
    parameter : float
        The noise multiplier of the first two, the epsilon of the others.
    sampling : Sampling or None
    """

    mechanism: Mechanism
    parameter: float
    sampling: Sampling | None = None

    def __repr__(self) -> str:
        return f"{self.mechanism}({self.parameter!r}" + (f", {self.sampling!r})" if self.sampling else ")")


@dataclass(frozen=True, slots=True)
class Bracket:
    """A lower and an upper bound. The upper one is the guarantee."""

    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Cost:
    """What an event costs. Printed, epsilon is rounded up.

    Attributes
    ----------
    epsilon : float
        The guarantee: an upper bound.
    lower : float
        A lower bound for every sound accountant based on the same dominating pairs; 0 where none is known.
    delta : float
        The delta that `epsilon` holds for.
    adjacency : str
        The adjacency that it holds under.
    method : str
        The accountant that computed it, never ``"auto"``.
    """

    epsilon: float
    lower: float
    delta: float
    adjacency: Adjacency
    method: Method

    def __str__(self) -> str:
        epsilon = _native.rounded_up(self.epsilon)
        return f"epsilon {epsilon}, delta {self.delta!r}, {self.adjacency} adjacency ({self.method})"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Event:
    """Releases and how often each happens: made by `gaussian`, `laplace`, `pure` and `bounded_range`, immutable.

    ``a + b`` is the adaptive composition of two events, ``n * a`` the n-fold composition of one; `sum` and
    `compose` work on many. Equal releases are merged. The order does not change the cost, so ``a + b == b +
    a``.

    Attributes
    ----------
    releases : tuple of (Release, int)
        The distinct releases with how often each happens.
    adjacency : str or None
        The only adjacency that the event may be priced under (see `under`), if there is one.

    Examples
    --------
    >>> from reticent.accounting import gaussian, laplace, poisson
    >>> step = gaussian(2.0, poisson(0.01))
    >>> 100 * (step + laplace(8.0)) + step
    101 * gaussian(2.0, poisson(0.01)) + 100 * laplace(8.0)
    """

    releases: tuple[tuple[Release, int], ...] = ()
    adjacency: Adjacency | None = None
    # Arrays of NumPy leave the operators to this class.
    __array_ufunc__: ClassVar[None] = None

    def __post_init__(self) -> None:
        counts: dict[Release, int] = {}
        for release, times in self.releases:
            if not isinstance(release, Release):
                raise ArgumentError(f"a release is needed, not {reprlib.repr(release)}")
            counts[release] = counts.get(release, 0) + _count("the number of repetitions", times, 0)
        _count("the number of releases", sum(counts.values()), 0)
        object.__setattr__(self, "releases", tuple(item for item in counts.items() if item[1]))

    def __add__(self, other: Event | Literal[0]) -> Event:
        if type(other) is int and other == 0:
            # The initial value of `sum`.
            return self
        return compose([self, other]) if isinstance(other, Event) else NotImplemented

    __radd__ = __add__

    def __mul__(self, times: SupportsIndex) -> Event:
        count = _count("the number of repetitions", times, 0)
        return Event(tuple((release, count * n) for release, n in self.releases), self.adjacency)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Event):
            return NotImplemented
        return (frozenset(self.releases), self.adjacency) == (frozenset(other.releases), other.adjacency)

    def __hash__(self) -> int:
        return hash((frozenset(self.releases), self.adjacency))

    def __repr__(self) -> str:
        terms = (repr(release) if n == 1 else f"{n} * {release!r}" for release, n in self.releases)
        text = " + ".join(terms) or "compose([])"
        return f"({text}).under({self.adjacency!r})" if self.adjacency else text

    def under(self, adjacency: Adjacency) -> Event:
        """Return the same event, to be priced under this adjacency only.

        Pricing it under another one, or composing it with an event that is limited to another one, raises
        `ArgumentError`.

        Examples
        --------
        >>> from reticent.accounting import gaussian
        >>> event = gaussian(2.0).under("add-remove")
        >>> event.cost(1e-5, adjacency="replace-one")
        Traceback (most recent call last):
        reticent.accounting.ArgumentError: the noise multipliers of the event are for add-remove, not replace-one
        """
        return Event(self.releases, self._adjacency(adjacency))

    def cost(self, delta: float, *, adjacency: Adjacency | None = None, method: Method = "auto") -> Cost:
        """Return the epsilon of the event at `delta`.

        Parameters
        ----------
        delta : float
            Between 0 and 1. It may be 0 if no release is Gaussian: then the epsilons add up.
        adjacency : {"add-remove", "replace-one"}
            Which data sets are neighbours. The noise multipliers must be relative to the sensitivity under
            it. Required, unless the event is limited to one (see `under`).
        method : str
            The accountant; ``"auto"`` is the tightest that applies.

        Returns
        -------
        Cost

        Raises
        ------
        ArgumentError
            If an argument is not in its domain, or the adjacency is not stated.
        UnsupportedError
            If the method has no sound bound for the event.

        Examples
        --------
        >>> from reticent.accounting import gaussian
        >>> cost = gaussian(4.0).cost(1e-5, adjacency="replace-one")
        >>> print(cost)
        epsilon 0.92635, delta 1e-05, replace-one adjacency (exact)
        >>> cost.lower == cost.epsilon
        True
        """
        neighbours, delta = self._adjacency(adjacency), _number("delta", delta, 0.0, 1.0)
        epsilon, lower, used = _native.cost(self.releases, neighbours, delta, _choice("method", method, Method))
        bracket = _bracket(lower, epsilon)
        return Cost(bracket.upper, bracket.lower, delta, neighbours, used)

    def delta(self, epsilon: float, *, adjacency: Adjacency | None = None, method: Method = "auto") -> Bracket:
        """Return the delta of the event at `epsilon`, whose `Bracket.upper` is the guarantee.

        Parameters
        ----------
        epsilon : float
            Finite and at least 0.
        adjacency, method
            As for `cost`.

        Examples
        --------
        >>> from reticent.accounting import laplace
        >>> f"{(40 * laplace(3.0)).delta(10, adjacency='add-remove').upper:.2g}"
        '1.8e-06'
        """
        neighbours, epsilon = self._adjacency(adjacency), _number("epsilon", epsilon, 0.0, _MAX)
        upper, lower = _native.delta(self.releases, neighbours, epsilon, _choice("method", method, Method))
        return _bracket(lower, upper)

    def _adjacency(self, stated: Adjacency | None) -> Adjacency:
        if stated is not None:
            _choice("adjacency", stated, Adjacency)
        adjacency = stated or self.adjacency
        if adjacency is None:
            raise ArgumentError(
                'state adjacency="add-remove" (neighbours have one record more or less) or "replace-one" (one record '
                "is exchanged): the sensitivity that the noise multiplier is relative to depends on it"
            )
        if self.adjacency not in (None, adjacency):
            raise ArgumentError(f"the noise multipliers of the event are for {self.adjacency}, not {adjacency}")
        return adjacency


def compose(events: Iterable[Event]) -> Event:
    """Return the adaptive composition of events: their sum.

    Examples
    --------
    >>> from reticent.accounting import compose, pure
    >>> compose([pure(0.1), pure(0.2), pure(0.1)])
    2 * pure(0.1) + pure(0.2)
    >>> compose([]).cost(0.0, adjacency="add-remove").epsilon
    0.0
    """
    parts = list(events)
    for part in parts:
        if not isinstance(part, Event):
            raise ArgumentError(f"an event is needed, not {reprlib.repr(part)}")
    stated: set[Adjacency] = {part.adjacency for part in parts if part.adjacency is not None}
    if len(stated) > 1:
        raise ArgumentError("an event for add-remove and one for replace-one adjacency have no common cost")
    return Event(tuple(item for part in parts for item in part.releases), next(iter(stated), None))


def gaussian(noise_multiplier: float, sampling: Sampling | None = None) -> Event:
    """Return one release with Gaussian noise.

    Parameters
    ----------
    noise_multiplier : float
        The standard deviation of the noise over the L2 sensitivity, *under the adjacency that the event is
        priced for*: for the sum of vectors clipped to norm C, the sensitivity is C under add-remove and 2 C
        under replace-one.
    sampling : Sampling, optional
        How the records are chosen; all of them by default.
    """
    return _release("gaussian", noise_multiplier, sampling)


def laplace(noise_multiplier: float, sampling: Sampling | None = None) -> Event:
    """Return one release with Laplace noise.

    Parameters
    ----------
    noise_multiplier : float
        The scale of the noise over the L1 sensitivity, *under the adjacency that the event is priced for*:
        one release is (1 / noise_multiplier)-DP.
    sampling : Sampling, optional
        How the records are chosen; all of them by default.
    """
    return _release("laplace", noise_multiplier, sampling)


def pure(epsilon: float, sampling: Sampling | None = None) -> Event:
    """Return one release of any epsilon-DP mechanism.

    Parameters
    ----------
    epsilon : float
        The epsilon of the mechanism without sampling, under the adjacency that the event is priced for; at most 20.
    sampling : Sampling, optional
        How the records are chosen; all of them by default.
    """
    return _release("pure", epsilon, sampling)


def bounded_range(epsilon: float, sampling: Sampling | None = None) -> Event:
    """Return one release of any epsilon-bounded-range mechanism, such as the exponential mechanism.

    Parameters
    ----------
    epsilon : float
        The width of the range of the log probability ratio between neighbours, under the adjacency that the
        event is priced for; at most 20. The exponential mechanism with weights
        exp(epsilon * score / (2 * sensitivity)) has this epsilon.
    sampling : Sampling, optional
        How the records are chosen; all of them by default.
    """
    return _release("bounded_range", epsilon, sampling)


def poisson(rate: float) -> Sampling:
    """Return Poisson sampling: every record takes part independently with probability `rate`."""
    return Sampling("poisson", _number("the sampling rate", rate, *_RATE))


def fixed(batch: int, records: int) -> Sampling:
    """Return fixed-size sampling: `batch` of `records` records, without replacement, drawn afresh for each release."""
    of, size = _count("the number of records", records, 1), _count("the batch size", batch, 1)
    if size > of:
        raise ArgumentError(f"a batch of {size} records cannot be drawn without replacement from {of}")
    return Sampling("fixed", size / of, size, of)


def shuffled() -> Sampling:
    """Return shuffled passes: the event is one pass over all records in disjoint batches, each record in one of them.

    No amplification is credited: a pass costs as much as one release on all records.
    """
    return Sampling("shuffled")


def compare(event: Event, delta: float, *, adjacency: Adjacency | None = None) -> dict[Method, Cost | AccountingError]:
    """Return the cost of an event by every method, or the error that states why a method does not apply.

    The two theorems on fixed-size sampling (``"wang9"``, ``"wang27"``) are left out of events without it:
    they would repeat ``"rdp"``.

    Examples
    --------
    >>> from reticent.accounting import Cost, compare, laplace
    >>> costs = compare(100 * laplace(10.0), 1e-6, adjacency="add-remove")
    >>> [method for method, cost in costs.items() if isinstance(cost, Cost)]
    ['pld', 'rdp', 'zcdp', 'composition']
    """
    event = compose([event])
    fixed_size = any(release.sampling and release.sampling.scheme == "fixed" for release, _ in event.releases)
    costs: dict[Method, Cost | AccountingError] = {}
    # What is wrong for every method is an error.
    _number("delta", delta, 0.0, 1.0)
    neighbours = event._adjacency(adjacency)
    for method in get_args(Method):
        if method == "auto" or (method in ("wang9", "wang27") and not fixed_size):
            continue
        try:
            costs[method] = event.cost(delta, adjacency=neighbours, method=method)
        except AccountingError as error:
            costs[method] = error
    return costs


def calibrate(
    event: Callable[[float], Event],
    *,
    epsilon: float,
    delta: float,
    adjacency: Adjacency | None = None,
    method: Method = "auto",
) -> float:
    """Return the smallest noise multiplier, to a relative 1e-6, at which an event costs at most `epsilon` at `delta`.

    Parameters
    ----------
    event : callable
        The event as a function of the noise multiplier. Its cost must fall as the noise multiplier grows.
    epsilon : float
        The target, above 0.
    delta : float
        Between 0 and 1, both excluded.
    adjacency, method
        As for `Event.cost`.

    Returns
    -------
    float
        A noise multiplier whose event costs at most `epsilon`: it is priced once more before it is returned.

    Raises
    ------
    UnreachableError
        If no noise multiplier between 1e-3 and 1e9 meets the target, or the cost does not fall as the noise grows.

    Examples
    --------
    The noise multiplier of DP-SGD, after statistics that used up a part of the budget:

    >>> from reticent.accounting import calibrate, gaussian, poisson
    >>> run = lambda noise: 1000 * gaussian(noise, poisson(0.01)) + gaussian(8.0)
    >>> noise = calibrate(run, epsilon=1, delta=1e-6, adjacency="add-remove")
    >>> 0.999 < run(noise).cost(1e-6, adjacency="add-remove").epsilon <= 1
    True
    """

    def event_at(noise: float) -> Event:
        # Checks the type.
        return compose([event(noise)])

    if not callable(event):
        raise ArgumentError(f"a function from a noise multiplier to an event is needed, not {reprlib.repr(event)}")
    epsilon, delta = _number("epsilon", epsilon, 0.0, _MAX), _number("delta", delta, 0.0, 1.0)
    neighbours = adjacency or event_at(1.0)._adjacency(None)

    def releases_at(noise: float) -> tuple[tuple[Release, int], ...]:
        return event_at(noise).under(neighbours).releases

    _choice("adjacency", neighbours, Adjacency)
    noise: float = _native.noise_multiplier(releases_at, neighbours, epsilon, delta, _choice("method", method, Method))
    for attempt in (noise, noise * (1.0 + 1e-9), noise * (1.0 + 1e-6)):
        if event_at(attempt).cost(delta, adjacency=neighbours, method=method).epsilon <= epsilon:
            return attempt
    raise UnreachableError(
        f"the event costs more than epsilon {epsilon} at noise {noise}, where the search ended: its cost must fall "
        "as the noise grows"
    )


def calibrate_steps(
    event: Event,
    *,
    epsilon: float,
    delta: float,
    adjacency: Adjacency | None = None,
    method: Method = "auto",
) -> int:
    """Return the largest n for which ``n * event`` costs at most `epsilon` at `delta`; 0 if one costs more.

    It is at most as large as an event can be, `MAX_RELEASES`.

    Parameters
    ----------
    event : Event
        The event to repeat; it has at least one release.
    epsilon : float
        The target, above 0.
    delta : float
        Between 0 and 1, both excluded.
    adjacency, method
        As for `Event.cost`.

    Examples
    --------
    >>> from reticent.accounting import calibrate_steps, gaussian
    >>> calibrate_steps(gaussian(10.0), epsilon=1, delta=1e-5, adjacency="add-remove")
    7
    """
    if not compose([event]).releases:
        raise ArgumentError("the event has no release: it can be repeated without end")
    neighbours = event._adjacency(adjacency)
    epsilon, delta = _number("epsilon", epsilon, 0.0, _MAX), _number("delta", delta, 0.0, 1.0)
    steps: int = _native.steps(event.releases, neighbours, epsilon, delta, _choice("method", method, Method))
    steps = min(steps, MAX_RELEASES // sum(times for _, times in event.releases))
    if steps and (steps * event).cost(delta, adjacency=neighbours, method=method).epsilon > epsilon:
        raise AccountingError("the cost of the event does not grow with the number of repetitions")
    return steps


NoiseOver: TypeAlias = Literal["norm", "sensitivity"]
"""What a noise multiplier of dp-accounting is relative to, under replace-one adjacency."""


def from_dp_accounting(event: object, *, adjacency: Adjacency, noise_over: NoiseOver = "norm") -> Event:
    """Return an event of dp-accounting as an event that costs at least as much.

    Parameters
    ----------
    event : dp_accounting.DpEvent
        Made of ``GaussianDpEvent``, ``LaplaceDpEvent``, ``DiscreteLaplaceDpEvent``,
        ``RandomizedResponseDpEvent`` (replace-one), ``ExponentialMechanismDpEvent``,
        ``PermuteAndFlipDpEvent``, ``EpsilonDeltaDpEvent`` with delta 0, ``NoOpDpEvent``,
        ``PoissonSampledDpEvent``, ``SampledWithoutReplacementDpEvent``, ``ComposedDpEvent`` and
        ``SelfComposedDpEvent``. Several Gaussian releases on one sample become a single one.
    adjacency : {"add-remove", "replace-one"}
        The adjacency that the result is limited to (see `Event.under`). ``"add-remove"`` is
        ``ADD_OR_REMOVE_ONE``, ``"replace-one"`` is ``REPLACE_ONE``.
    noise_over : {"norm", "sensitivity"}
        What noise multipliers are relative to under replace-one. ``"norm"``: the bound C on the norm of one
        record's value, as the events define it and ``PLDAccountant`` reads it; the sensitivity is 2 C, so
        noise multipliers are halved. ``"sensitivity"``: the sensitivity under replace-one, as
        ``RdpAccountant`` reads it, which reports too small an epsilon for events made by the definition.
        Under add-remove both are the same.

    Raises
    ------
    ConversionError
        If a part has no equivalent here: ``NonPrivateDpEvent``, zCDP, discrete Gaussian, trees, sampling with
        replacement, repetition and selection, mixtures, truncated samples, nested samples.

    Examples
    --------
    >>> from dp_accounting import dp_event as dp  # doctest: +SKIP
    >>> step = dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.1))  # doctest: +SKIP
    >>> from_dp_accounting(dp.SelfComposedDpEvent(step, 1000), adjacency="add-remove")  # doctest: +SKIP
    (1000 * gaussian(1.1, poisson(0.01))).under('add-remove')
    """
    _choice("adjacency", adjacency, Adjacency)
    factor = _sensitivity_factor(adjacency, _choice("noise_over", noise_over, NoiseOver))
    return _from_dp(event, adjacency, factor, sampled=False).under(adjacency)


def _from_dp(event: object, adjacency: Adjacency, factor: int, *, sampled: bool) -> Event:
    parts: list[Event] = []
    # Without recursion: trees may be deep.
    rest: list[tuple[Any, int]] = [(event, 1)]
    while rest:
        node, times = rest.pop()
        kind = _kind(node)
        if kind == "SelfComposedDpEvent":
            rest.append((node.event, times * _count("the number of repetitions", node.count, 0)))
        elif kind == "ComposedDpEvent":
            rest.extend((child, times) for child in reversed(node.events))
        elif kind not in ("PoissonSampledDpEvent", "SampledWithoutReplacementDpEvent"):
            parts.append(times * _release_from_dp(kind, node, adjacency, factor))
        elif sampled:
            raise ConversionError("a sample of a sample has no equivalent")
        elif node.sampling_probability if kind == "PoissonSampledDpEvent" else node.sample_size:
            inner = _from_dp(node.event, adjacency, factor, sampled=True)
            if kind == "PoissonSampledDpEvent":
                parts.append(times * _sampled(inner, poisson(node.sampling_probability), adjacency))
            else:
                parts.append(times * _sampled(inner, fixed(node.sample_size, node.source_dataset_size), adjacency))
    return compose(parts)


def _release_from_dp(kind: str, node: Any, adjacency: Adjacency, factor: int) -> Event:
    if kind == "NoOpDpEvent":
        return compose([])
    if kind == "GaussianDpEvent":
        return gaussian(_number("the noise multiplier", node.noise_multiplier, 0.0, _MAX) / factor)
    if kind == "LaplaceDpEvent":
        return laplace(_number("the noise multiplier", node.noise_multiplier, 0.0, _MAX) / factor)
    if kind == "DiscreteLaplaceDpEvent":
        # The largest loss is a * sensitivity; at sensitivity 1 the pair is that of randomised response.
        sensitivity = factor * _count("the sensitivity", node.sensitivity, 1)
        largest = _number("the noise parameter", node.noise_parameter, 0.0, _MAX) * sensitivity
        return pure(largest if sensitivity <= 2 else math.nextafter(largest, math.inf))
    if kind == "RandomizedResponseDpEvent" and adjacency == "replace-one":
        p = _number("the noise parameter", node.noise_parameter, 5e-324, 1.0)
        k = _count("the number of buckets", node.num_buckets, 1)
        # ln((1 - p + p/k) / (p/k)), not below its value by rounding.
        return compose([]) if p == 1.0 or k == 1 else pure(math.log1p(k * (1.0 - p) / p) * (1.0 + 2e-15))
    if kind == "ExponentialMechanismDpEvent":
        return bounded_range(node.epsilon)
    if kind == "PermuteAndFlipDpEvent" or (kind == "EpsilonDeltaDpEvent" and node.delta == 0):
        return pure(node.epsilon)
    raise ConversionError(f"{reprlib.repr(node)} has no equivalent under {adjacency} adjacency")


def _sampled(event: Event, sampling: Sampling, adjacency: Adjacency) -> Event:
    """The event as one release on a sample."""
    releases = event.releases
    if len(releases) == 1 and releases[0][1] == 1:
        release = releases[0][0]
        return Event(((Release(release.mechanism, release.parameter, sampling), 1),))
    if any(release.mechanism != "gaussian" for release, _ in releases):
        raise ConversionError("several releases on one sample have an equivalent only if all of them are Gaussian")
    if sampling.scheme == "poisson" and adjacency == "replace-one":
        # The proof for one release is about a mean that is fixed before it.
        raise ConversionError("several releases on one Poisson sample have no equivalent under replace-one adjacency")
    precision = math.fsum(times / (release.parameter * release.parameter) for release, times in releases)
    # Not above its value by rounding.
    return gaussian((1.0 - 2e-15) / math.sqrt(precision), sampling) if releases else event


def to_dp_accounting(event: Event, *, adjacency: Adjacency | None = None, noise_over: NoiseOver | None = None) -> Any:
    """Return an event as one of dp-accounting, which must be installed.

    Parameters
    ----------
    event : Event
    adjacency : {"add-remove", "replace-one"}
        The adjacency that the noise multipliers of the event are relative to. Required, unless the event is
        limited to one.
    noise_over : {"norm", "sensitivity"}
        Which accountant will price the result under ``REPLACE_ONE``. Required under replace-one for Gaussian
        and Laplace noise, because the accountants of dp-accounting differ by a factor of 2: ``"norm"`` for
        ``PLDAccountant`` (noise multipliers are doubled), ``"sensitivity"`` for ``RdpAccountant``.

    Returns
    -------
    dp_accounting.DpEvent

    Raises
    ------
    ConversionError
        If there is no equivalent, or `noise_over` is needed.

    Examples
    --------
    >>> from reticent.accounting import gaussian, to_dp_accounting
    >>> to_dp_accounting(3 * gaussian(2.0), adjacency="add-remove")  # doctest: +SKIP
    SelfComposedDpEvent(event=GaussianDpEvent(noise_multiplier=2.0), count=3)
    """
    adjacency = compose([event])._adjacency(adjacency)
    if noise_over is not None:
        _choice("noise_over", noise_over, NoiseOver)
    dp = importlib.import_module("dp_accounting.dp_event")
    parts: list[Any] = []
    for release, times in event.releases:
        part = _release_to_dp(dp, release, adjacency, noise_over)
        match release.sampling:
            case Sampling("poisson", rate):
                part = dp.PoissonSampledDpEvent(rate, part)
            case Sampling("fixed", _, batch, records):
                part = dp.SampledWithoutReplacementDpEvent(records, batch, part)
            case Sampling("shuffled") if adjacency == "add-remove":
                raise ConversionError("shuffled passes have no cost under add-remove adjacency")
        parts.append(part if times == 1 else dp.SelfComposedDpEvent(part, times))
    if not parts:
        return dp.NoOpDpEvent()
    return parts[0] if len(parts) == 1 else dp.ComposedDpEvent(parts)


def _release_to_dp(dp: Any, release: Release, adjacency: Adjacency, noise_over: NoiseOver | None) -> Any:
    if release.mechanism in ("gaussian", "laplace"):
        if noise_over is None and adjacency == "replace-one":
            raise ConversionError(
                'under replace-one, state noise_over="norm" to price the result by PLDAccountant, '
                'or "sensitivity" to price it by RdpAccountant'
            )
        made = dp.GaussianDpEvent if release.mechanism == "gaussian" else dp.LaplaceDpEvent
        return made(release.parameter * _sensitivity_factor(adjacency, noise_over or "norm"))
    if release.mechanism == "bounded_range":
        if hasattr(dp, "ExponentialMechanismDpEvent"):
            return dp.ExponentialMechanismDpEvent(release.parameter)
        raise ConversionError(
            "this dp-accounting has no event for the exponential mechanism: convert pure(epsilon) instead"
        )
    if hasattr(dp, "EpsilonDeltaDpEvent"):
        return dp.EpsilonDeltaDpEvent(release.parameter, 0.0)
    # Both are randomised response, which dominates all mechanisms of this epsilon. Each has one of the adjacencies.
    if adjacency == "add-remove":
        return dp.DiscreteLaplaceDpEvent(release.parameter, 1)
    odds = math.exp(-release.parameter)
    # Not above its value by rounding.
    return dp.RandomizedResponseDpEvent(2.0 * odds / (1.0 + odds) * (1.0 - 2e-15), 2)


def _kind(node: object) -> str:
    """The name of a class of dp-accounting. A class derived from one may have another meaning."""
    if not type(node).__module__.startswith("dp_accounting."):
        raise ConversionError(f"an event of dp-accounting is needed, not {reprlib.repr(node)}")
    return type(node).__name__


def _sensitivity_factor(adjacency: Adjacency, noise_over: NoiseOver) -> int:
    return 2 if adjacency == "replace-one" and noise_over == "norm" else 1


def _release(mechanism: Mechanism, value: float, sampling: Sampling | None) -> Event:
    if sampling is not None and not isinstance(sampling, Sampling):
        raise ArgumentError(
            f"the sampling must be poisson(rate), fixed(batch, records) or shuffled(), not {reprlib.repr(sampling)}"
        )
    if mechanism in ("gaussian", "laplace"):
        value = _number("the noise multiplier", value, *_NOISE)
    else:
        value = _number("epsilon", value, *_EPSILON)
    return Event(((Release(mechanism, value, sampling), 1),))


def _number(name: str, value: float, lowest: float, highest: float) -> float:
    """A number from `lowest` to `highest` as a float."""
    number = math.nan
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
    if not lowest <= number <= highest:
        raise ArgumentError(f"{name} must be a number from {lowest:g} to {highest:g}, but it is {reprlib.repr(value)}")
    return number


def _count(name: str, value: SupportsIndex, lowest: int) -> int:
    """An integer from `lowest` to 2^40."""
    try:
        count = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        count = -1
    if not lowest <= count <= MAX_RELEASES:
        raise ArgumentError(f"{name} must be an integer from {lowest} to 2^40, but it is {reprlib.repr(value)}")
    return count


_Choice = TypeVar("_Choice", bound=str)


def _choice(name: str, value: _Choice, choices: Any) -> _Choice:
    known = get_args(choices)
    if not isinstance(value, str) or value not in known:
        raise ArgumentError(f"{name} must be one of {', '.join(map(repr, known))}, but it is {reprlib.repr(value)}")
    return value


def _bracket(lower: float, upper: float) -> Bracket:
    if not lower <= upper:
        raise AccountingError("rounding errors exceed this cost: use another method, such as rdp or zcdp")
    # Without negative zeros.
    return Bracket(lower + 0.0, upper + 0.0)
