"""A ledger and one of its data sets: every fit of a session is charged to that data set."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from . import _core
from ._errors import BudgetError, SettingsError, public
from .results import Amount
from .schema import Schema

__all__ = ["Session"]


class Session:
    """A data set of a ledger, which owns the budget.

    A fit with a session reserves its whole cost before the first release, is marked as started, and is settled when its model is on the disk. Models are kept
    in a folder beside the ledger, so that nothing that was paid for is lost; a run that was interrupted can be resumed at no further cost.

    Parameters
    ----------
    ledger
        The ledger file.
    data_set
        The name of the data set in it. `create` gives a data set a budget.
    folder
        Where the models of fits go that name no file of their own: a folder beside the ledger unless stated.

    Examples
    --------
    >>> import tempfile, os
    >>> ledger = os.path.join(tempfile.mkdtemp(), "budget.ledger")
    >>> with Session.create(ledger, "clinic", epsilon=3, delta=1e-5) as session:
    ...     session.remaining
    Amount(epsilon=3.0, delta=1e-05)
    """

    def __init__(
        self, ledger: str | os.PathLike[str], data_set: str, *, folder: str | os.PathLike[str] | None = None
    ) -> None:
        self.ledger = Path(ledger)
        self.data_set = str(data_set)
        self.folder = Path(folder) if folder is not None else self.ledger.with_name(self.ledger.name + ".models")
        self._again: Callable[[], Any] | None = None
        self.account()

    @classmethod
    def create(
        cls,
        ledger: str | os.PathLike[str],
        data_set: str,
        *,
        epsilon: float,
        delta: float,
        adjacency: str = "replace-one",
        schema: Schema | None = None,
        privacy_unit: str | None = None,
        folder: str | os.PathLike[str] | None = None,
    ) -> Session:
        """Give a data set a budget, once and for all; the file is made if there is none.

        With a schema, fits with another one are refused. Adjacency and privacy unit stay what they are: costs for different ones do not add up.
        """
        if schema is not None and privacy_unit is not None:
            raise SettingsError("a schema states its own privacy unit", "leave `privacy_unit` out")
        failure: BudgetError | None = None
        try:
            _core.create(os.fspath(ledger), data_set, float(epsilon), float(delta), adjacency, None if schema is None else schema._core, privacy_unit)
        except BudgetError as error:
            failure = error
        if failure is not None:
            again = "already in the ledger" in failure.message
            raise BudgetError(failure.message, f"its budget is fixed: open it with Session({os.fspath(ledger)!r}, {data_set!r})" if again else failure.hint)
        return cls(ledger, data_set, folder=folder)

    def account(self) -> dict[str, Any]:
        """What is spent, what remains, and which runs are not finished."""
        return cast("dict[str, Any]", json.loads(_core.account(os.fspath(self.ledger), self.data_set)))

    def history(self) -> list[dict[str, Any]]:
        """All charges, the oldest first."""
        return cast("list[dict[str, Any]]", json.loads(_core.history(os.fspath(self.ledger), self.data_set)))

    @property
    def cap(self) -> Amount:
        """What may ever be spent."""
        return Amount(**self.account()["cap"])

    @property
    def spent(self) -> Amount:
        """The joint cost of all runs."""
        return Amount(**self.account()["spent"])

    @property
    def remaining(self) -> Amount:
        """The largest amount that a next run can be granted."""
        return Amount(**self.account()["remaining"])

    @property
    def unfinished(self) -> list[dict[str, Any]]:
        """Runs that are charged and not settled: in progress, interrupted or crashed."""
        return list(self.account()["unfinished"])

    def after(self, epsilon: float, delta: float) -> Amount | None:
        """What one more run of one Gaussian release would leave; nothing if it would be refused."""
        left = json.loads(_core.account(os.fspath(self.ledger), self.data_set, (float(epsilon), float(delta))))["after"]
        return None if left is None else Amount(**left)

    def cancel(self, reservation: int) -> None:
        """Cancel a reservation of which nothing was released."""
        _core.cancel(os.fspath(self.ledger), int(reservation))

    @public
    def resume(self) -> Any:
        """Continue the fit that was interrupted in this session, at no further cost: released values are read back, not drawn again.

        In a new process, give the same estimator the same `out`, and call `fit(..., resume=True)`.
        """
        if self._again is None:
            raise SettingsError("no fit was interrupted in this session", "in a new process, call `fit` of the same estimator with resume=True")
        return self._again()

    def _file(self, model: str) -> Path:
        """A new file for a model."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        stem = re.sub(r"[^A-Za-z0-9._-]", "_", self.data_set)
        now = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%S.%fZ")
        return self.folder / f"{stem}-{model}-{now}-{os.getpid()}.reticent"

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # A run that was interrupted holds its records.
        self._again = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_again": None}

    def __repr__(self) -> str:
        return f"Session({os.fspath(self.ledger)!r}, data_set={self.data_set!r})"

    def __str__(self) -> str:
        return cast(str, self.account()["remaining_text"]).replace("; ", ";\n")

    def _repr_html_(self) -> str:
        account = self.account()
        cap, spent = account["cap"]["epsilon"], account["spent"]["epsilon"]
        share = min(max(spent / cap, 0.0), 1.0) if cap > 0 else 0.0
        bar = (
            '<div style="width:24em;height:.7em;border:1px solid rgba(128,128,128,.6);border-radius:.35em;overflow:hidden">'
            f'<div style="width:{100 * share:.1f}%;height:100%;background:#3b6ea5"></div></div>'
        )
        return f"<div>{html.escape(account['remaining_text'])}{bar}</div>"
