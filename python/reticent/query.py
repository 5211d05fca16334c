"""Private queries of your own: a function of one row, added up with noise.

A `Plan` states which sums will be released: how often, what contributions are clipped to, and how much noise they get. A `Wall` holds the records and
makes these releases, and nothing else leaves it. What you do with released values is post-processing: it costs nothing more, whether it is
right or wrong.

>>> import numpy as np
>>> from reticent import query
>>> plan = query.Plan(records=5000)
>>> counts = plan.sums("records by decade", width=10, norm=1.0, non_negative=True)
>>> def decade(row, state):
...     out = np.zeros(10)
...     out[int(min(max(row[0] / 10, 0), 9))] = 1.0
...     return out
>>> ages = (np.arange(5000.0) ** 2 % 97)[:, None]
>>> with query.Wall(ages, plan, epsilon=1, delta=1e-6) as wall:
...     released = wall.sum(counts, decade)
>>> released.values.shape, bool(released.noise_sd[0] < 10)
((10,), True)
>>> round(wall.receipt["guarantee"]["epsilon"]["upper"], 3)
1.0

Notes
-----
**What is guaranteed.** All releases of a plan together are (epsilon, delta)-differentially private under the adjacency of the plan, which neighbouring data
sets differ by: one row is exchanged (`replace-one`; the number of rows is public and checked), or one is added or removed (`add-remove`; it is
private, and `records` is a public guess). The privacy unit is a row, or all rows of a person if the schema has a privacy unit: the mean of their
contributions, or their sum over at most `rows_per_unit` rows, counts as one. The wall clips every contribution to the domain of the plan on an integer lattice, so the sensitivity is that of the
domain, whatever the function returns:

====================================  =====================  ===========
domain                                add-remove             replace-one
====================================  =====================  ===========
``norm=c``                            c                      2 c
``norm=c, non_negative=True``         c                      sqrt 2 c
``norm=c, order=1`` (Laplace noise)   c                      2 c
``lower=..., upper=...``              farthest corner        diagonal
``norm=c, outer=True``                c^2                    sqrt 2 c^2
====================================  =====================  ===========

Poisson samples under `replace-one` have twice the largest norm in each case.

**What you claim.** The receipt lists it. The function is a *pure* function of one row and of public state: it keeps, prints and counts nothing, starts no
thread or process, does not end the process, and does not depend on earlier rows, on the order or number of its calls (it is called for the rows of a
sample only, and how many these are is private), or on chance. How long a call takes is not hidden. What can be enforced is:

- each call gets a copy of its row, which is read-only, so a row that is kept or changed is no other call's row, and arrays in the state are read-only copies;
- what it returns is copied at once. A result that is not `width` finite numbers, or any exception (`KeyboardInterrupt` and `SystemExit` too), makes the
  contribution of this row zeros, and of no other. The exception is dropped where it is raised: no message, traceback or warning of it is shown,
  logged or kept;
- Ctrl-C is never raised in the function, since it runs on a thread of its own, and the one that Python interrupts waits for it. It ends the release, once a
  call that is blocked outside of Python returns; what was reserved stays charged. So the function must not wait for the calling thread, and does not have
  its context, such as a precision that was set there;
- a wall is of one process: one that is forked has a copy, with the same noise to come, and is refused.

A row with a number that is not finite is an absent record: it contributes zeros, and the function is not called.

``Query(function, vectorised=True)`` is called with blocks of rows, which is much faster. That rows of a block do not influence each other, to the last
bit, is your claim and on the receipt, and so is that it does not matter where in the block they are: with `add-remove` the place of a row depends on how many are
before it. All blocks have the same shape: the last one is filled up with the example row. If a call fails, it is made again with parts of the block, and
examples in place of the other rows, until the rows that fail are alone: they are zeros, and no others. A row that could make its whole block fail would have
the influence of a block.

Such queries are local: other processes and clusters cannot evaluate them.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType, TracebackType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._errors import DataError, SettingsError, public
from ._tables import is_path, table
from .results import Receipt
from .schema import Schema
from .session import Session

__all__ = ["Fixed", "Passes", "Plan", "Poisson", "Query", "Released", "Sums", "Wall"]

Array = NDArray[np.float64]

_core: Any = importlib.import_module("reticent._core").query

#: Rows of a block of a vectorised query.
BLOCK = 1024


class Query:
    """A function of one row and of public state, which returns the contribution of the row.

    Parameters
    ----------
    function
        Called as ``function(row, state)`` with an array of the numbers of a row. It returns `width` numbers, or one number if `width` is 1. It must be
        pure: see the notes of this module.
    vectorised
        Called with a block of rows instead, ``function(rows, state)``, and returns a row of `width` numbers for each. This claims that rows do not influence
        each other: the receipt states it.

    Examples
    --------
    >>> squares = Query(lambda rows, state: rows**2, vectorised=True)
    >>> squares(np.array([[1.0, 2.0]]), None)
    array([[1., 4.]])
    """

    __slots__ = ("function", "vectorised")

    def __init__(self, function: Callable[[Array, Any], ArrayLike], *, vectorised: bool = False) -> None:
        if not callable(function):
            raise SettingsError("a query is a function of a row and of public state", "give a function with these two arguments")
        self.function = function
        self.vectorised = vectorised

    def __call__(self, row: Array, state: Any = None) -> Any:
        """Call the function, to try it on rows that are not private: its exceptions are shown."""
        return self.function(row, state)

    def __repr__(self) -> str:
        name = getattr(self.function, "__qualname__", type(self.function).__name__)
        return f"Query({name}, vectorised=True)" if self.vectorised else f"Query({name})"


@dataclass(frozen=True)
class Poisson:
    """Samples with each record in it with this probability, independently."""

    rate: float


@dataclass(frozen=True)
class Fixed:
    """Samples of exactly this many records, without replacement, afresh for each release."""

    batch: int


@dataclass(frozen=True)
class Passes:
    """Disjoint batches of this many records of a shuffled data set. A complete pass costs as much as one release about all records."""

    batch: int


Sampling = Poisson | Fixed | Passes


@dataclass(frozen=True)
class Sums:
    """A group of planned sums: made by `Plan.sums`, and given to `Wall.sum`."""

    what: str
    #: Numbers that the query returns for a row.
    width: int
    #: Number of releases.
    steps: int
    _index: int
    _spec: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"Sums({self.what!r}, width={self.width}, steps={self.steps})"


class Plan:
    """Everything that will be released, fixed before a record is read.

    Parameters
    ----------
    records
        The public number of records, or of privacy units: the true one under `replace-one` adjacency, where it is checked, and a guess under `add-remove`.
    adjacency
        What one unit of privacy is: to exchange a record, or to add or remove one.

    Examples
    --------
    >>> plan = Plan(records=5000)
    >>> mean = plan.sums("sum of the rows", width=3, norm=1.5, steps=4)
    >>> spread = plan.sums("second moments", width=3, norm=1.0, outer=True, share=0.5)
    >>> calibrated = plan.calibrated(epsilon=1, delta=1e-6)
    >>> calibrated.epsilon(delta=1e-6) <= 1
    True
    """

    def __init__(self, records: int, adjacency: Literal["replace-one", "add-remove"] = "replace-one") -> None:
        if adjacency not in ("replace-one", "add-remove"):
            raise SettingsError("`adjacency` is replace-one or add-remove", "choose one of them")
        self.records = _whole(records, "records")
        self.adjacency = adjacency
        self._sums: list[Sums] = []

    def sums(
        self,
        what: str,
        width: int,
        *,
        norm: float | None = None,
        non_negative: bool = False,
        order: Literal[1, 2] = 2,
        outer: bool = False,
        blocks: Sequence[tuple[int, float]] | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        steps: int = 1,
        sampling: Sampling | None = None,
        noise_multiplier: float | None = None,
        share: float = 1.0,
    ) -> Sums:
        """Add a group of noisy sums.

        Parameters
        ----------
        what
            What is released, for the receipt.
        width
            Numbers that the query returns for a row.
        norm
            The clipping norm: longer contributions are scaled down to it.
        non_negative
            Negative numbers are set to 0 first. This saves a factor of sqrt 2 of the noise under `replace-one`.
        order
            2 for the Euclidean norm and Gaussian noise, 1 for the sum of absolute values and Laplace noise.
        outer
            The query returns a vector, and its outer product with itself is summed: see `Released.matrix`. It is less noisy than to return the product.
        blocks
            Blocks of numbers in different units, each a width and a scale that its numbers are divided by before the norm is taken.
        lower, upper
            Bounds of each number, in place of a norm.
        steps
            Number of releases of the group.
        sampling
            Which records take part in a release: all of them, or `Poisson`, `Fixed` or `Passes`.
        noise_multiplier
            Standard deviation of the noise (scale, if Laplace) over the sensitivity. Without one the group gets a part of the budget.
        share
            That part, relative to the shares of other groups without a noise multiplier of their own.

        Returns
        -------
        Sums
        """
        width, steps = _whole(width, "width"), _whole(steps, "steps")
        if not (float(share) > 0.0 and np.isfinite(share)):
            raise SettingsError("`share` is a positive number", "1 is as much as each other group")
        spec = {
            "what": str(what),
            "width": width * (width + 1) // 2 if outer else width,
            "geometry": _geometry(width, norm, (non_negative, order == 1, outer, blocks is not None), order, blocks, lower, upper),
            "sampler": _sampler(sampling),
            "noise_multiplier": None if noise_multiplier is None else float(noise_multiplier),
            "steps": steps,
            "share": float(share),
        }
        sums = Sums(str(what), width, steps, len(self._sums), spec)
        self._sums.append(sums)
        try:
            _core.describe(self._json())
        except BaseException:
            self._sums.pop()
            raise
        return sums

    def calibrated(self, epsilon: float, delta: float) -> Plan:
        """The same plan with the noise that a budget pays for, in the groups that have no noise multiplier. A `Wall` does this by itself."""
        if not self._sums:
            raise SettingsError("the plan has no releases", "add some with `sums`")
        multipliers = _core.calibrated(self._json(), float(epsilon), float(delta))
        plan = Plan(self.records, self.adjacency)
        for sums, multiplier in zip(self._sums, multipliers, strict=True):
            plan._sums.append(replace(sums, _spec={**sums._spec, "noise_multiplier": multiplier}))
        return plan

    def epsilon(self, delta: float) -> float:
        """The epsilon of all releases together. Each group needs a noise multiplier: see `calibrated`."""
        if any(sums._spec["noise_multiplier"] is None for sums in self._sums):
            raise SettingsError("a group of the plan has no noise multiplier", "state it, or call `calibrated`")
        epsilon, _ = _core.price(self._json(), float(delta))
        return float(epsilon)

    @property
    def noise_multipliers(self) -> list[float | None]:
        """The noise multiplier of each group."""
        return [sums._spec["noise_multiplier"] for sums in self._sums]

    def _json(self) -> str:
        sums = [dict(sums._spec) for sums in self._sums]
        return json.dumps({"records": self.records, "adjacency": self.adjacency, "sums": sums})

    def __repr__(self) -> str:
        lines = [f"Plan(records={self.records}, adjacency={self.adjacency!r})"]
        multipliers = self.noise_multipliers
        for line, multiplier in zip(_core.describe(self._json()), multipliers, strict=True):
            lines.append("- " + (line if multiplier is not None else line.rpartition(", noise multiplier")[0] + ", noise by the budget"))
        return "\n".join(lines)


def _whole(value: int, name: str) -> int:
    if isinstance(value, bool) or int(value) != value or value < 1:
        raise SettingsError(f"`{name}` is an integer of at least 1", "see `help(reticent.query.Plan)`")
    return int(value)


def _geometry(
    width: int,
    norm: float | None,
    kinds: tuple[bool, bool, bool, bool],
    order: int,
    blocks: Sequence[tuple[int, float]] | None,
    lower: ArrayLike | None,
    upper: ArrayLike | None,
) -> dict[str, Any]:
    """The domain of contributions as the wall reads it."""
    bounds = lower is not None or upper is not None
    if order not in (1, 2) or sum(kinds) > 1 or bounds == (norm is not None) or (bounds and any(kinds)):
        raise SettingsError(
            "contributions need one domain", "state `norm`, with at most one of `non_negative`, `order=1`, `outer` and `blocks`, or `lower` and `upper`"
        )
    if norm is None:
        if lower is None or upper is None:
            raise SettingsError("a box needs `lower` and `upper`", "state both")
        sides = (np.broadcast_to(np.asarray(side, dtype=float), (width,)).tolist() for side in (lower, upper))
        return {"box": dict(zip(("lower", "upper"), sides, strict=True))}
    radius = {"radius": float(norm)}
    if blocks is not None:
        return {"blocks": {**radius, "blocks": [{"width": int(size), "scale": float(scale)} for size, scale in blocks]}}
    names = ("non-negative-ball", "l1-ball", "outer")
    return {next((name for name, kind in zip(names, kinds, strict=False) if kind), "ball"): radius}


def _sampler(sampling: Sampling | None) -> Any:
    match sampling:
        case None:
            return "full"
        case Poisson(rate):
            return {"poisson": {"rate": float(rate)}}
        case Fixed(batch):
            return {"fixed": {"batch": _whole(batch, "batch")}}
        case Passes(batch):
            return {"pass": {"batch": _whole(batch, "batch")}}
    raise SettingsError("`sampling` is a `Poisson`, `Fixed` or `Passes`, or nothing for all records", "see `help(reticent.query)`")


@dataclass(frozen=True)
class Released:
    """A noisy sum. It is public."""

    #: The noisy sum of each number.
    values: Array
    #: Standard deviation of the noise in each of them. Noises are independent.
    noise_sd: Array
    #: Expected number of records that took part.
    expected_batch: float
    #: Number of this release in its group, from 1.
    step: int

    @property
    def matrix(self) -> Array:
        """The symmetric matrix of a sum of outer products, whose upper triangle `values` has row by row."""
        size = (int(np.sqrt(8 * len(self.values) + 1)) - 1) // 2
        matrix = np.zeros((size, size))
        matrix[np.triu_indices(size)] = self.values
        return matrix + np.triu(matrix, 1).T


class Wall:
    """Records, and the releases about them that a plan allows.

    The cost of the plan is reserved when the wall is made, charged before the first release, and settled at the end of the ``with`` block, also after an
    exception. Stopping early does not make a run cheaper. A process that dies leaves the whole cost charged.

    Parameters
    ----------
    data
        A matrix of numbers (a NumPy array), which are taken as they are; or, with a `schema`, a table of pandas, polars or pyarrow, a mapping of columns or the
        path of a file, whose columns are encoded: see `columns`. A row is a record. The number type of a matrix is taken to be public.
    plan
        What will be released. Groups without a noise multiplier get the noise that the budget pays for.
    epsilon, delta
        The budget. Plans of Laplace noise alone may have a delta of 0.
    session
        The ledger and the data set that are charged: a `Session`, or a pair of a file and a name. Rows of a matrix are charged to data sets that were added
        without a schema. Without a session nothing adds up the costs of several runs.
    schema
        The schema of a table: a `Schema`, or its text.
    example
        A public row that each query is tried on before it is used: zeros, unless stated. A query that fails on it is an error, with nothing
        released, and the exception is shown, as no private row is in it.
    without_privacy
        **Not private**: exact sums without clipping, for comparison. Keep them to yourself.

    Attributes
    ----------
    receipt
        What was spent, on what, and under which assumptions, once the wall is closed.
    plan
        The plan with its noise multipliers.
    columns
        Names of the numbers of a row that a schema encodes.
    """

    __slots__ = ("_claims", "_core", "_example", "_receipt", "columns", "plan", "projections")

    @public
    def __init__(
        self,
        data: Any,
        plan: Plan,
        epsilon: float | None = None,
        delta: float | None = None,
        *,
        session: Session | tuple[str | os.PathLike[str], str] | None = None,
        schema: Schema | str | None = None,
        example: ArrayLike | None = None,
        without_privacy: bool = False,
    ) -> None:
        budget = None
        if without_privacy:
            if epsilon is not None or delta is not None or session is not None:
                raise SettingsError("sums without privacy have no budget", "leave `epsilon`, `delta` and `session` out")
        elif epsilon is None or delta is None:
            raise SettingsError("a wall needs a budget", "state `epsilon` and `delta`")
        else:
            budget = (float(epsilon), float(delta))
            plan = plan.calibrated(*budget)
        ledger = None if session is None else _ledger(session)
        if schema is None:
            self._core = _core.Run.of_rows(_matrix(data), plan._json(), budget, ledger)
        else:
            self._core = _core.Run.of_table(*_encoded(data, schema), plan._json(), budget, ledger)
        self.plan = plan
        self.columns: list[str] = self._core.names
        self.projections = 0
        self._claims: dict[tuple[str, str], None] = {}
        self._receipt: Receipt | None = None
        self._example = _example(example, self._core.width)

    def sum(self, sums: Sums, query: Query | Callable[[Array, Any], ArrayLike], state: Any = None) -> Released:
        """Release a noisy sum of the contributions of a sample of records.

        Parameters
        ----------
        sums
            The group of the plan. Releases beyond its `steps` are refused.
        query
            What a row contributes: a `Query`, or a function of a row and of `state`.
        state
            Anything public, such as earlier releases. Arrays in it, also in lists, tuples and mappings, are given as read-only copies.

        Returns
        -------
        Released
        """
        query = query if isinstance(query, Query) else Query(query)
        planned = self.plan._sums
        if not (isinstance(sums, Sums) and sums._index < len(planned) and planned[sums._index].what == sums.what):
            raise SettingsError("the plan has no such sums", "give what `sums` of this plan has returned")
        state = _frozen(state)
        self._try(query, state, sums.width)
        stop: list[bool] = []
        rows = _in_blocks if query.vectorised else _one_by_one
        evaluate = partial(_quiet, partial(rows, query.function, state, sums.width, self._example, stop))
        values, noise_sd, batch, step = self._core.sum(sums._index, sums.width, evaluate, stop)
        self._claims.update(dict.fromkeys((sums.what, claim) for claim in _claims(query)))
        return Released(values, noise_sd, batch, step)

    def _try(self, query: Query, state: Any, width: int) -> None:
        """Call a query with the example row."""
        example = self._example.copy()
        if query.vectorised:
            example = np.tile(example, (BLOCK, 1))
        example.flags.writeable = False
        with np.errstate(all="ignore"):
            found = query(example, state)
        shape = (BLOCK, width) if query.vectorised else (width,)
        if _numbers(found, shape) is None:
            given = getattr(found, "shape", type(found).__name__)
            raise DataError(
                f"the query returns no numbers of shape {shape} for the example row, but {given}",
                "nothing was released: correct the query, or state another `example` row if this one is not possible",
            )

    def close(self) -> Receipt:
        """Settle the charge, and write the receipt."""
        if self._receipt is None:
            claims = [f"{what}: {claim}" for what, claim in self._claims]
            content, text = self._core.finish(self.projections, claims)
            self._receipt = Receipt(json.loads(content), text)
        return self._receipt

    @property
    def receipt(self) -> Receipt:
        """What was spent, on what, and under which assumptions."""
        if self._receipt is None:
            raise SettingsError("the receipt is written at the end", "leave the `with` block, or call `close`")
        return self._receipt

    def __enter__(self) -> Wall:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a wall holds private records: it cannot be pickled or copied")

    def __repr__(self) -> str:
        if self._receipt is not None:
            return f"Wall(closed)\n{self._receipt}"
        return f"Wall({self._core.guarantee})\n{self.plan!r}"


def _claims(query: Query) -> Iterator[str]:
    yield "computed by a function of Python in this process; that it is a pure function of one row and of public state is a claim of its author"
    if query.vectorised:
        yield f"computed in blocks of {BLOCK} rows; that rows of a block do not influence each other is a claim of its author"


def _ledger(session: Session | tuple[str | os.PathLike[str], str]) -> tuple[str, str]:
    """The ledger file and the data set of a session, or of a pair of both."""
    file, data_set = session if isinstance(session, tuple) else (session.ledger, session.data_set)
    return os.fspath(file), str(data_set)


def _encoded(data: Any, schema: Any) -> tuple[Any, Any]:
    """A table, or a path, and its schema, as the native part takes them."""
    schema = schema if isinstance(schema, Schema) else Schema(str(schema))
    needed = [*schema.features, *(name for name in (schema.target, schema.privacy_unit) if name is not None)]
    return os.fspath(data) if is_path(data) else table(data, needed), schema._core


def _matrix(data: Any) -> Array:
    """A matrix of numbers. No value of it is an error, or part of one."""
    if not (isinstance(data, np.ndarray) and data.ndim == 2 and data.dtype.kind in "biuf" and data.shape[1] > 0):
        raise DataError("the records are not a matrix of numbers", "give a two-dimensional NumPy array of a number type, or a table with its `schema`")
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(data, dtype=np.float64)


def _example(example: ArrayLike | None, width: int) -> Array:
    row = np.zeros(width) if example is None else np.array(example, dtype=np.float64)
    if row.shape != (width,) or not np.isfinite(row).all():
        raise SettingsError(f"`example` is a row of {width} numbers", "state one that is possible and public")
    row.flags.writeable = False
    return row


def _frozen(state: Any) -> Any:
    """The state with read-only copies of its arrays: a row cannot leave anything there for the next one."""
    if isinstance(state, np.ndarray):
        state = state.copy()
        state.flags.writeable = False
    elif type(state) in (list, tuple):
        return tuple(_frozen(part) for part in state)
    elif type(state) is dict:
        return MappingProxyType({key: _frozen(part) for key, part in state.items()})
    return state


def _numbers(found: Any, shape: tuple[int, ...]) -> Array | None:
    """What a function has returned as numbers of this shape; nothing if it is none."""
    array = np.asarray(found)
    if array.dtype.kind not in "biuf":
        return None
    if array.shape == () and shape == (1,):
        array = array.reshape(1)
    return array.astype(np.float64) if array.shape == shape else None


def _one_by_one(
    function: Callable[[Array, Any], Any], state: Any, width: int, _example: Array, stop: list[bool], rows: Array
) -> Array:
    """The contributions of rows, each by a call of its own; NaN, which contributes zeros, for those that fail."""
    out = np.full((len(rows), width), np.nan)
    shape = (width,)
    # Absent records are dropped by the native part.
    for i in np.flatnonzero(np.isfinite(rows).all(axis=1)).tolist():
        if stop:
            break
        try:
            row = rows[i].copy()
            row.flags.writeable = False
            found = function(row, state)
            # The usual result without a detour.
            if type(found) is np.ndarray and found.dtype == np.float64 and found.shape == shape:
                out[i] = found
            elif (numbers := _numbers(found, shape)) is not None:
                out[i] = numbers
        except BaseException:  # noqa: S110, BLE001 - what it is must not be seen
            pass
    return out


def _in_blocks(
    function: Callable[[Array, Any], Any], state: Any, width: int, example: Array, stop: list[bool], rows: Array
) -> Array:
    """The same by calls with blocks of rows, all of one shape. A block that fails is divided, until rows that fail are alone.

    Each row is at the same place in all calls, whatever the others are, and absent records are examples.
    """
    out = np.full((len(rows), width), np.nan)
    known = np.where(np.isfinite(rows).all(axis=1, keepdims=True), rows, example)
    for begin in range(0, len(rows), BLOCK):
        parts = [(0, min(BLOCK, len(rows) - begin))]
        while parts and not stop:
            first, end = parts.pop()
            numbers = None
            try:
                block = np.tile(example, (BLOCK, 1))
                block[first:end] = known[begin + first : begin + end]
                block.flags.writeable = False
                numbers = _numbers(function(block, state), (BLOCK, width))
            except BaseException:  # noqa: S110, BLE001 - what it is must not be seen
                pass
            if numbers is not None:
                out[begin + first : begin + end] = numbers[first:end]
            elif end - first > 1:
                middle = (first + end) // 2
                parts += [(first, middle), (middle, end)]
    return out


#: Whether each thread has its own filters of warnings.
_FILTERS_OF_THREADS = bool(getattr(sys.flags, "context_aware_warnings", False))


class _Silence:
    """Suppresses the warnings of this process, and what Python reports of exceptions that it cannot raise, while any thread evaluates a query.

    A warning of a row is a fact about it, and so are its text and the note of Python that it was shown.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._restore: contextlib.ExitStack | None = None

    def __enter__(self) -> None:
        with self._lock:
            self._count += 1
            if self._count == 1:
                with contextlib.ExitStack() as stack:
                    if not _FILTERS_OF_THREADS:
                        stack.enter_context(warnings.catch_warnings())
                        warnings.simplefilter("ignore")
                    stack.callback(setattr, sys, "unraisablehook", sys.unraisablehook)
                    sys.unraisablehook = lambda unraisable: None
                    self._restore = stack.pop_all()

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._count -= 1
            if self._count == 0 and self._restore is not None:
                self._restore.close()


_SILENCE = _Silence()


def _quiet(evaluate: Callable[[Array], Array], rows: Array) -> Array:
    """The contributions of rows, with warnings suppressed."""
    with _SILENCE, np.errstate(all="ignore"):
        if not _FILTERS_OF_THREADS:
            return evaluate(rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return evaluate(rows)
