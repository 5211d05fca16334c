"""Errors and warnings.

No message contains a value of a record. Exceptions of public methods have no traceback below the call, whose frames would hold the records.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = [
    "BudgetError",
    "BudgetWarning",
    "CuratorWarning",
    "DataError",
    "FileError",
    "ModelWarning",
    "PrivacyWarning",
    "ReticentError",
    "SchemaError",
    "SettingsError",
    "Stopped",
]


class ReticentError(Exception):
    """Why something was refused or failed. `hint` is what to do next."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\nhint: {self.hint}"


class BudgetError(ReticentError):
    """The budget does not cover the run, or the ledger refuses it. Nothing was released."""


class SchemaError(ReticentError, ValueError):
    """The schema is invalid, or does not suit this model or data set."""


class DataError(ReticentError, ValueError):
    """Records, a plan or a saved model cannot be used."""


class SettingsError(ReticentError, ValueError):
    """The request is invalid: a setting out of its range, an impossible budget."""


class FileError(ReticentError, OSError):
    """Something could not be read or written."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        ReticentError.__init__(self, message, hint)

    __str__ = ReticentError.__str__


class Stopped(KeyboardInterrupt):
    """The run was interrupted. The message states what stays charged, and `hint` how to resume it."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    __str__ = ReticentError.__str__


class PrivacyWarning(UserWarning):
    """Something is not protected, or rests on an assumption that the receipt states."""


class BudgetWarning(PrivacyWarning):
    """A cost is not added up."""


class CuratorWarning(PrivacyWarning):
    """**Not private**: for whoever holds the records, and nobody else."""


class ModelWarning(UserWarning):
    """What a reader must know before relying on a model."""


def read_file(path: str) -> bytes:
    """The content of a file."""
    failure = ""
    try:
        with open(path, "rb") as opened:
            return opened.read()
    except (OSError, ValueError) as error:
        failure = getattr(error, "strerror", None) or "it is not the path of a file"
    raise FileError(f"{path} cannot be read: {failure}", "check the path")


Function = TypeVar("Function", bound=Callable[..., Any])


def public(function: Function) -> Function:
    """Raise what `function` raises without its frames, whose variables hold records, and without what caused it.

    The environment variable ``RETICENT_TRACEBACK=full`` leaves tracebacks as they are, to find a fault of this package on public records.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            if os.environ.get("RETICENT_TRACEBACK") == "full":
                raise
            failure = error
        del args, kwargs
        failure.__cause__ = failure.__context__ = None
        raise failure.with_traceback(None)

    return call  # type: ignore[return-value]
