"""Stochastic expectation propagation with sites of your own, under differential privacy (DP-SEP).

The posterior is approximated by a member of an exponential family, the prior times the product of one *site* for each record. A site is the change of natural
parameters from the *cavity*, the approximation without this record, to the tilted distribution, the cavity times the likelihood of the record. You write the
site; `fit` releases noisy sums of clipped sites through a `reticent.query.Wall`, and does the rest.

The mean of a Gaussian with known variance 1, whose sites do not depend on the cavity:

>>> import numpy as np
>>> from reticent import query, sep
>>> prior = sep.Gaussian(mean=[0.0, 0.0], covariance=9 * np.eye(2))
>>> plan = query.Plan(records=20_000)
>>> sites = sep.sums(plan, prior, norm=4.0, steps=5)
>>> rows = np.random.default_rng(1).normal([1.0, -0.5], 1.0, size=(20_000, 2))
>>> def site(rows, cavity):
...     return rows, np.tile(np.eye(2), (len(rows), 1, 1))
>>> with query.Wall(rows, plan, epsilon=1, delta=1e-6) as wall:
...     fit = sep.fit(wall, sites, prior, query.Query(site, vectorised=True))
>>> bool(np.abs(fit.mean - [1.0, -0.5]).max() < 0.05)
True

Notes
-----
**Privacy** is that of the wall: see `reticent.query`. A site is clipped in *centred* coordinates, the precision and the gradient at the mean of the cavity, which are
small once the cavity is near the posterior. All else is post-processing. Steps are linear in what is released, so the covariance of the privacy noise in the
natural parameters is exact; its effect on the mean is included in `Fit.covariance`, to first order.

References
----------
Li, Hernandez-Lobato, Turner, "Stochastic expectation propagation", NeurIPS 2015. Vinaroz, Park, "Differentially private stochastic expectation
propagation", TMLR 2022.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._errors import SettingsError
from .query import Plan, Query, Sums, Wall

__all__ = ["Family", "Fit", "Gaussian", "Natural", "fit", "linear_site", "sums"]

Array = NDArray[np.float64]
Member = TypeVar("Member", bound="Family")


class Family(Protocol):
    """What `fit` needs of a member of an exponential family. `Gaussian` and `Natural` are such."""

    @property
    def natural(self) -> Array:
        """Natural parameters in one array."""

    def at(self: Member, natural: Array, floor: float) -> tuple[Member, bool]:
        """The proper member of the same family that is nearest to these natural parameters, and whether they had to be moved."""

    def coordinates(self, site: Any) -> Array:
        """The result of a site, or of a block of sites, in the coordinates that are clipped."""

    def back(self) -> Array | None:
        """The matrix that turns these coordinates into natural parameters, if they are not the same."""


def _read_only(values: Any) -> Array:
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array


class Gaussian:
    """A Gaussian with a full covariance matrix.

    Natural parameters are the precision times the mean, and the precision. Sites return changes of both, as a pair of an array of `d` and one of `d` by `d` numbers;
    those of a vectorised query, for `n` rows, of `n` by `d` and `n` by `d` by `d` numbers. `change_to` computes the pair from the moments of the tilted
    distribution.

    Parameters
    ----------
    mean
        The mean, of `d` numbers.
    covariance
        The covariance matrix; a number is a multiple of the identity.

    Examples
    --------
    >>> prior = Gaussian([0.0, 0.0], 4.0)
    >>> prior.precision.tolist()
    [[0.25, 0.0], [0.0, 0.25]]
    """

    __slots__ = ("covariance", "mean", "precision")

    def __init__(self, mean: ArrayLike, covariance: ArrayLike) -> None:
        self.mean = _read_only(np.atleast_1d(np.asarray(mean, dtype=np.float64)))
        size = len(self.mean)
        given = np.asarray(covariance, dtype=np.float64)
        given = given * np.eye(size) if given.ndim == 0 else given
        if given.shape != (size, size) or not np.allclose(given, given.T) or not (np.linalg.eigvalsh(given) > 0).all():
            raise SettingsError("the covariance is not a positive definite matrix of the size of the mean", "state one, or a positive number")
        self.covariance = _read_only(given)
        inverse = np.linalg.inv(given)
        self.precision = _read_only((inverse + inverse.T) / 2)

    @property
    def natural(self) -> Array:
        """The precision times the mean, and the upper triangle of the precision, row by row, with off-diagonal elements times sqrt 2.

        This makes the Euclidean norm of the triangle the Frobenius norm of the matrix.
        """
        return self._flat(self.precision @ self.mean, self.precision)

    def change_to(self, mean: ArrayLike, covariance: ArrayLike) -> tuple[Array, Array]:
        """The change of natural parameters to a Gaussian with these moments: the site of a record whose tilted distribution has them."""
        precision = np.linalg.inv(np.asarray(covariance, dtype=np.float64))
        return precision @ np.asarray(mean, dtype=np.float64) - self.precision @ self.mean, precision - self.precision

    def at(self, natural: Array, floor: float) -> tuple[Gaussian, bool]:
        """The proper member nearest to these natural parameters: no direction has less than `floor` times the precision of this one."""
        size = len(self.mean)
        first, precision = natural[:size], np.zeros((size, size))
        precision[np.triu_indices(size)] = natural[size:] / _weights(size)
        precision = precision + np.triu(precision, 1).T
        lower = np.linalg.cholesky(self.precision)
        half = np.linalg.solve(lower, precision)
        values, vectors = np.linalg.eigh(np.linalg.solve(lower, half.T))
        moved = bool(values.min() < floor * (1.0 - 1e-9))
        root = lower @ vectors
        if moved:
            values = np.maximum(values, floor)
        inverse = np.linalg.inv(root)
        covariance = (inverse.T / values) @ inverse
        covariance = (covariance + covariance.T) / 2
        return Gaussian(covariance @ first, covariance), moved

    def coordinates(self, site: Any) -> Array:
        """The changes of the precision, and of the gradient at the mean."""
        first, precision = (np.asarray(part, dtype=np.float64) for part in site)
        return self._flat(first - precision @ self.mean, precision)

    def back(self) -> Array:
        """Adds the precision times the mean to the gradient."""
        size = len(self.mean)
        rows, columns = np.triu_indices(size)
        matrix = np.eye(size + len(rows))
        at = size + np.arange(len(rows))
        matrix[rows, at] = self.mean[columns] / _weights(size)
        matrix[columns, at] = self.mean[rows] / _weights(size)
        return matrix

    def _flat(self, first: Array, precision: Array) -> Array:
        rows, columns = np.triu_indices(len(self.mean))
        return np.concatenate([first, precision[..., rows, columns] * _weights(len(self.mean))], axis=-1)

    def __repr__(self) -> str:
        return f"Gaussian(mean={self.mean.tolist()}, covariance={self.covariance.tolist()})"


def _weights(size: int) -> Array:
    """What elements of a triangle are multiplied by."""
    rows, columns = np.triu_indices(size)
    return np.where(rows == columns, 1.0, np.sqrt(2.0))


class Natural:
    """A member of any exponential family, by its natural parameters.

    Sites return changes of the natural parameters, as one array; those of a vectorised query one row for each.

    Parameters
    ----------
    natural
        The natural parameters, such as (a - 1, b - 1) of a beta distribution.
    lower
        Bounds that they are above in a proper member, such as -1 for both of them. Noise may move them out of their domain: they are then moved to
        the bound, or, if the prior is above it, to `floor` times its distance from it.

    Examples
    --------
    >>> beta = Natural([0.0, 0.0], lower=-1.0)
    >>> beta.at(np.array([5.0, -3.0]), floor=1.0)
    (Natural([5.0, 0.0]), True)
    """

    __slots__ = ("_lower", "natural")

    def __init__(self, natural: ArrayLike, *, lower: ArrayLike = -np.inf) -> None:
        self.natural = _read_only(np.atleast_1d(np.asarray(natural, dtype=np.float64)))
        self._lower = _read_only(np.broadcast_to(np.asarray(lower, dtype=np.float64), self.natural.shape))
        if not (self.natural > self._lower).all():
            raise SettingsError("natural parameters are above their bounds", "state a proper prior")

    def at(self, natural: Array, floor: float) -> tuple[Natural, bool]:
        """The member of these natural parameters, moved into their domain."""
        bounded = np.isfinite(self._lower)
        least = np.where(bounded, self._lower + floor * (self.natural - np.where(bounded, self._lower, 0.0)), -np.inf)
        moved = bool((natural < least).any())
        return Natural(np.maximum(natural, least), lower=self._lower), moved

    def coordinates(self, site: Any) -> Array:
        """The changes as they are."""
        return np.asarray(site, dtype=np.float64)

    def back(self) -> None:
        """They are natural parameters already."""

    def __repr__(self) -> str:
        return f"Natural({self.natural.tolist()})"


@dataclass(frozen=True)
class Fit:
    """A posterior by stochastic expectation propagation."""

    #: The member of the family, without the uncertainty that the privacy noise adds.
    posterior: Any
    #: The covariance of the privacy noise in its natural parameters.
    noise: Array
    #: How often noise had moved natural parameters out of their domain.
    projections: int

    @property
    def mean(self) -> Array:
        """The mean of a Gaussian posterior."""
        return cast("Array", self.posterior.mean)

    @property
    def noise_covariance(self) -> Array:
        """The covariance of the privacy noise in the mean of a Gaussian posterior, to first order."""
        size, back = len(self.posterior.mean), self.posterior.back()
        # The noise in the gradient at the mean moves the mean by the covariance times as much.
        gradient = np.linalg.inv(back)[:size]
        map_to_mean = self.posterior.covariance @ gradient
        return cast("Array", map_to_mean @ self.noise @ map_to_mean.T)

    @property
    def covariance(self) -> Array:
        """The covariance of a Gaussian posterior, of the records and of the privacy noise together."""
        return cast("Array", self.posterior.covariance + self.noise_covariance)


def sums(plan: Plan, prior: Family, norm: float, *, steps: int = 20, what: str = "clipped sites", **options: Any) -> Sums:
    """Add the sums of sites to a plan.

    Parameters
    ----------
    plan
        The plan.
    prior
        The prior, whose family the sites are of.
    norm
        The clipping norm of a site. A smaller one has less noise; sites beyond it are scaled down, which biases the posterior.
    steps
        Number of releases. They share the budget, and the noise of their average does not depend on their number.
    what
        What is released, for the receipt.
    **options
        Those of `reticent.query.Plan.sums`, such as `sampling` and `share`.
    """
    return plan.sums(what, len(prior.natural), norm=norm, steps=steps, **options)


def _shares(damping: float | Sequence[float] | None, steps: int) -> Array:
    """The share of the way to its new value of each step."""
    if damping is None:
        # A weighted average of all releases: weights rise with the square of the step over the first half, and are constant after it.
        weights = np.minimum(np.arange(1, steps + 1) / max(steps // 2, 1), 1.0) ** 2
        return cast("Array", weights / np.cumsum(weights))
    shares = np.broadcast_to(np.asarray(damping, dtype=np.float64), (steps,))
    if not ((shares > 0) & (shares <= 1)).all():
        raise SettingsError("`damping` is a number above 0 and at most 1, or one for each step", "leave it out for an average of all releases")
    return shares


def fit(
    wall: Wall,
    sums: Sums,
    prior: Family,
    site: Query | Callable[[Array, Any], Any],
    *,
    damping: float | Sequence[float] | None = None,
    floor: float = 1.0,
) -> Fit:
    """Approximate a posterior by stochastic expectation propagation, with all releases that were planned.

    Each step moves the likelihood part of the natural parameters a share of the way to the released sum of the sites at the present cavity, times the number
    of records over the expected size of the sample.

    Parameters
    ----------
    wall
        The records.
    sums
        The releases, planned by `sums`.
    prior
        The prior: a `Gaussian`, or a `Natural` of any family.
    site
        ``site(row, cavity)`` returns the change of natural parameters from the cavity to the tilted distribution of a row, in the form that the family of
        the prior states; the cavity is a member of it. It must be a pure function of both, as all queries: a `Query` may be vectorised.
    damping
        The share of each step, or one for each. By default the steps make an average of all releases in which early ones, at cavities far from
        the last one, have little weight.
    floor
        Where noise makes natural parameters improper they are moved to a member with at least this share of the precision of the prior. Such projections are
        counted on the receipt.

    Returns
    -------
    Fit
    """
    query = site if isinstance(site, Query) else Query(site)
    records = wall.plan.records
    width = len(prior.natural)
    likelihood, noise = np.zeros(width), np.zeros((width, width))
    projections = 0
    clipped = Query(_Centred(query.function), vectorised=query.vectorised)
    for share in _shares(damping, sums.steps):
        cavity, moved = prior.at(prior.natural + (1.0 - 1.0 / records) * likelihood, floor)
        projections += moved
        released = wall.sum(sums, clipped, cavity)
        values, scale = released.values, np.diag(released.noise_sd)
        if (back := cavity.back()) is not None:
            values, scale = back @ values, back * released.noise_sd
        by = share * records / released.expected_batch
        likelihood = (1.0 - share) * likelihood + by * values
        noise = (1.0 - share) ** 2 * noise + by**2 * (scale @ scale.T)
    posterior, moved = prior.at(prior.natural + likelihood, floor)
    projections += moved
    wall.projections += projections
    return Fit(posterior, noise, projections)


class _Centred:
    """A site in the coordinates that are clipped."""

    def __init__(self, site: Callable[[Array, Any], Any]) -> None:
        self.site = site
        self.__qualname__ = getattr(site, "__qualname__", "site")

    def __call__(self, row: Array, cavity: Any) -> Array:
        found: Array = cavity.coordinates(self.site(row, cavity))
        return found


def linear_site(
    log_likelihood: Callable[[Array, Array], ArrayLike], cavity: Gaussian, inputs: ArrayLike, target: ArrayLike, *, points: int = 20
) -> tuple[Array, Array]:
    """The site of a likelihood that depends on the parameters by one linear function of them, as in generalised linear models.

    The moments of the tilted distribution along that direction are computed by Gauss-Hermite quadrature.

    Parameters
    ----------
    log_likelihood
        ``log_likelihood(value, target)``: of the linear function, at several values at once.
    cavity
        The cavity.
    inputs
        The coefficients of the linear function: one row of inputs, or several.
    target
        The target of each row.
    points
        Number of points of the quadrature.

    Examples
    --------
    Logistic regression on rows of inputs and a target of -1 or 1:

    >>> def site(rows, cavity):
    ...     return linear_site(lambda value, sign: -np.logaddexp(0, -sign * value), cavity, rows[:, :-1], rows[:, -1])
    >>> first, precision = site(np.array([[1.0, 2.0, 1.0]]), Gaussian([0.0, 0.0], 1.0))
    >>> first.shape, precision.shape
    ((1, 2), (1, 2, 2))
    """
    inputs = np.asarray(inputs, dtype=np.float64)
    target = np.asarray(target, dtype=np.float64)[..., None]
    # One row at a time, as elements: a product of matrices may round a row by where it is in its block.
    spread = (inputs[..., None, :] * cavity.covariance).sum(-1)
    mean, variance = (inputs * cavity.mean).sum(-1), (inputs * spread).sum(-1)
    # A row of zeros has no information.
    variance = np.maximum(variance, 1e-12)
    at, weights = np.polynomial.hermite_e.hermegauss(points)
    value = mean[..., None] + np.sqrt(variance)[..., None] * at
    log = np.asarray(log_likelihood(value, target), dtype=np.float64)
    mass = np.exp(log - log.max(-1, keepdims=True)) * weights
    mass = mass / mass.sum(-1, keepdims=True)
    tilted = (mass * at).sum(-1)
    # In units of the cavity: the tilted variance, and natural parameters of the site.
    ratio = (mass * (at - tilted[..., None]) ** 2).sum(-1)
    precision = (1.0 / ratio - 1.0) / variance
    first = tilted / ratio / np.sqrt(variance) + precision * mean
    return first[..., None] * inputs, precision[..., None, None] * inputs[..., :, None] * inputs[..., None, :]
