"""What is publicly known about a table, before it is read."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, cast

from . import _core
from ._errors import SchemaError, public
from ._tables import Records, is_path, table, types

__all__ = ["Schema", "bounds", "levels", "words"]


class Facts(dict[str, Any]):
    """What is publicly known about a column: the entries of a schema file."""


def bounds(
    low: float | str,
    high: float | None = None,
    *,
    within: tuple[float, float] | None = None,
    unit: str | None = None,
    missing: float | str | None = None,
    prior: tuple[float, float] | None = None,
    description: str | None = None,
) -> Facts:
    """A number between public bounds, or between bounds that are estimated with a share of the budget.

    Parameters
    ----------
    low, high
        Bounds that are known without looking at the data; what is outside is moved to the nearer one. Or ``bounds("private", within=(0, 1e9))``.
    within
        For private bounds: a public range in which they are, which may be far too wide.
    unit
        The unit of measurement, such as ``"years"``.
    missing
        The value that missing ones count as, or ``"indicator"`` for a column of their own. The middle of the bounds unless stated.
    prior
        Mean and standard deviation of the prior of its coefficient, in units of the target per unit of the column.
    description
        What the column is.

    Examples
    --------
    >>> bounds(18, 100, unit="years")
    {'kind': 'numeric', 'bounds': [18.0, 100.0], 'unit': 'years'}
    >>> bounds("private", within=(0, 1e6))
    {'kind': 'numeric', 'bounds': 'private', 'within': [0.0, 1000000.0]}
    """
    facts = Facts(kind="numeric")
    if isinstance(low, str):
        if low != "private" or high is not None or within is None:
            raise SchemaError("bounds are two numbers, or \"private\" with a public range", 'write bounds(0, 10), or bounds("private", within=(0, 1e9))')
        facts.update(bounds="private", within=[_number(end, "within") for end in within])
    else:
        if high is None or within is not None:
            raise SchemaError("bounds are two numbers", "write bounds(low, high)")
        facts["bounds"] = [_number(low, "low"), _number(high, "high")]
    return _with(facts, unit=unit, missing=missing, prior=_prior(prior), description=description)


def levels(
    of: Sequence[Any],
    *,
    unknown: str | None = None,
    missing: str | None = None,
    reference: str | None = None,
    positive: str | None = None,
    prior: tuple[float, float] | None = None,
    description: str | None = None,
) -> Facts:
    """A column with public levels.

    Parameters
    ----------
    of
        All levels. A level that occurs in the data and is not listed counts as `unknown`, or as the first one.
    unknown
        A level for all values that are not listed.
    missing
        A level for missing values: one of the levels, or ``"level"`` for one of their own.
    reference
        The level that others are compared with: the first one unless stated.
    positive
        For a target of two levels: the one whose probability is modelled.
    prior
        Mean and standard deviation of the prior of its coefficients.
    description
        What the column is.

    Examples
    --------
    >>> levels(["A", "B"], unknown="other")
    {'kind': 'categorical', 'levels': ['A', 'B'], 'unknown': 'other'}
    """
    if isinstance(of, (str, bytes)) or not isinstance(of, Sequence):
        raise SchemaError("levels are a list", 'write levels(["A", "B"])')
    facts = Facts(kind="categorical", levels=[_text(level) for level in of])
    return _with(facts, unknown=unknown, missing=missing, reference=reference, positive=positive, prior=_prior(prior), description=description)


def words(vocabulary: Sequence[str], *, description: str | None = None) -> Facts:
    """A text of which the words of a public vocabulary are counted.

    Examples
    --------
    >>> words(["cat", "dog"])
    {'kind': 'text', 'vocabulary': ['cat', 'dog']}
    """
    if isinstance(vocabulary, (str, bytes)) or not isinstance(vocabulary, Sequence):
        raise SchemaError("a vocabulary is a list of words", 'write words(["cat", "dog"])')
    return _with(Facts(kind="text", vocabulary=[_text(word) for word in vocabulary]), description=description)


def _with(facts: Facts, **more: Any) -> Facts:
    facts.update({name: value for name, value in more.items() if value is not None})
    return facts


def _prior(prior: tuple[float, float] | None) -> dict[str, float] | None:
    if prior is None:
        return None
    mean, sd = prior
    return {"mean": _number(mean, "prior mean"), "sd": _number(sd, "prior sd")}


def _number(value: Any, name: str) -> float:
    import math
    import numbers

    if hasattr(value, "isoformat") or type(value).__name__ == "datetime64":
        raise SchemaError(f"`{name}` is a date, and columns are numbers", "count days or years from a public date, in the table and in the bounds")
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise SchemaError(f"`{name}` is not a finite number", "state what is publicly known")
    return float(value)


def _text(level: Any) -> str:
    return str(level).lower() if isinstance(level, bool) else str(level)


def facts_of(name: str, fact: Any) -> Facts:
    """What is known about a column, from any of the short forms."""
    if isinstance(fact, Mapping):
        return Facts(fact)
    if fact is bool:
        return Facts(kind="boolean")
    if isinstance(fact, tuple) and len(fact) == 2 and not any(isinstance(end, str) for end in fact):
        return bounds(*fact)
    if isinstance(fact, Sequence) and not isinstance(fact, (str, bytes)):
        return levels(fact)
    hint = "give bounds(low, high), a pair of numbers, bool, a list of levels, levels([...]) or words([...])"
    if fact in (int, float):
        hint = 'a number needs public bounds: bounds(low, high), or bounds("private", within=(low, high))'
    if fact is str:
        hint = "list the public levels of the column, or the public vocabulary of a text: words([...])"
    raise SchemaError(f"what is known about {name!r} is not clear", hint)


def toml(value: Any) -> str:
    """A value as TOML on one line."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, int):
        return str(value)
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


class Check(dict[str, Any]):
    """**Not private**: what a schema makes of a data set, for whoever holds it."""

    def __init__(self, content: Mapping[str, Any], text: str) -> None:
        super().__init__(content)
        self._text = text

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__


class Schema:
    """Which columns of a table are used, and what is publicly known about them.

    Whatever is written here may become public together with a model: state what is known without looking at the records.

    Parameters
    ----------
    text
        TOML, as in a schema file. See `of` for a schema from a dict, and `load` for files.

    Examples
    --------
    >>> schema = Schema.of({"age": bounds(18, 100, unit="years"), "smoker": bool, "ward": ["A", "B"]}, target=("stay", bounds(0, 60, unit="days")))
    >>> schema.features
    ['age', 'smoker', 'ward']
    >>> schema.target
    'stay'
    >>> print(schema)
    target = { name = "stay", kind = "numeric", bounds = [0.0, 60.0], unit = "days" }
    features = [
        { name = "age", kind = "numeric", bounds = [18.0, 100.0], unit = "years" },
        { name = "smoker", kind = "boolean" },
        { name = "ward", kind = "categorical", levels = ["A", "B"] },
    ]
    <BLANKLINE>
    """

    def __init__(self, text: str) -> None:
        self._core = _core.Schema.parse(text)

    @classmethod
    def _of(cls, core: Any) -> Schema:
        schema = cls.__new__(cls)
        schema._core = core
        return schema

    @classmethod
    def of(
        cls,
        features: Mapping[str, Any],
        target: tuple[str, Any] | None = None,
        *,
        privacy_unit: str | None = None,
        rows_per_unit: int | None = None,
        description: str | None = None,
    ) -> Schema:
        """A schema from a dict.

        Parameters
        ----------
        features
            For each column `bounds(...)` or a pair of numbers, ``bool``, a list of levels or `levels(...)`, or `words(...)`.
        target
            The name of what is predicted, and the same about it.
        privacy_unit
            A column: all rows with the same value in it, such as those of one person, are protected together. Without it, each row is.
        rows_per_unit
            Of each privacy unit at most so many rows count, in place of the mean of all its rows.
        description
            What the table is.
        """
        if not isinstance(features, Mapping):
            raise SchemaError("the features are a dict", 'write {"age": bounds(18, 100), "smoker": bool}')
        lines = []
        if description is not None:
            lines.append(f"description = {toml(description)}")
        if privacy_unit is not None:
            lines.append(f"privacy_unit = {toml(privacy_unit)}")
        if rows_per_unit is not None:
            lines.append(f"rows_per_unit = {int(rows_per_unit)}")
        if target is not None:
            name, fact = target
            lines.append(f"target = {toml({'name': str(name), **facts_of(str(name), fact)})}")
        lines.append("features = [")
        lines += [f"    {toml({'name': str(name), **facts_of(str(name), fact)})}," for name, fact in features.items()]
        return cls("\n".join([*lines, "]", ""]))

    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> Schema:
        """A schema from a TOML file."""
        return cls._of(_core.Schema.load(os.fspath(file)))

    @classmethod
    @public
    def template(cls, records: Records, target: str | None = None) -> str:
        """The text of a schema to be filled in, from the names and types of the columns of a table. No value is read.

        Examples
        --------
        >>> import numpy as np
        >>> print(Schema.template({"age": np.array([30.0]), "smoker": np.array([True])}).split("features")[1])
         = [
            { name = "age", kind = "numeric", bounds = [] },
            { name = "smoker", kind = "boolean" },
        ]
        <BLANKLINE>
        """
        if is_path(records):
            raise SchemaError("a template is made from a table", "`reticent schema --from FILE` makes one from a file")
        return _core.template(types(records), target)

    @classmethod
    @public
    def assuming_public(cls, records: Records, target: str | None = None) -> Schema:
        """**Not private**: bounds and levels as they occur in the records. Receipts state that they were assumed to be public."""
        return cls._of(_core.Schema.assuming_public(table(records), target))

    @public
    def check(self, records: Records) -> Check:
        """**Not private**: count the values of a data set that the schema does not allow, and how often rows repeat in columns that look like identifiers.

        For whoever holds the records. A fit takes every value; this finds misspelt levels and wrong units before it. State bounds and levels from what is
        publicly known, not from what a check shows.
        """
        found, text = _core.check(self._core, os.fspath(records) if is_path(records) else table(records))
        return Check(json.loads(found), text)

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the schema to a TOML file."""
        with open(file, "w", encoding="utf-8") as out:
            out.write(str(self))

    def with_privacy_unit(self, column: str, rows_per_unit: int | None = None) -> Schema:
        """The same schema, with all rows that have the same value in a column protected together."""
        return self._of(self._core.with_privacy_unit(column, rows_per_unit))

    def with_positive(self, level: Any) -> Schema:
        """The same schema, with the class of the target whose probability is modelled."""
        return self._of(self._core.with_positive(_text(level)))

    @property
    def columns(self) -> dict[str, Any]:
        """Target, features and privacy unit with what is known about them."""
        return cast("dict[str, Any]", json.loads(self._core.columns()))

    @property
    def features(self) -> list[str]:
        """The names of the columns that are predicted from."""
        return [column["name"] for column in self.columns["features"]]

    @property
    def target(self) -> str | None:
        """The name of the column that is predicted."""
        target = self.columns["target"]
        return None if target is None else cast(str, target["name"])

    @property
    def privacy_unit(self) -> str | None:
        """The column whose equal values are protected together; none if each row is protected by itself."""
        return cast("str | None", self.columns["privacy_unit"])

    @property
    def fingerprint(self) -> str:
        """Identifies the content, as a ledger does."""
        return self._core.fingerprint()

    def __str__(self) -> str:
        return self._core.to_toml()

    def __repr__(self) -> str:
        unit = f", privacy_unit={self.privacy_unit!r}" if self.privacy_unit is not None else ""
        return f"Schema(features={self.features!r}, target={self.target!r}{unit})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __reduce__(self) -> tuple[type[Schema], tuple[str]]:
        return type(self), (str(self),)
