"""Receipts, plans, summaries, reports and evaluations: what people read of a fit."""

from __future__ import annotations

import difflib
import html
import json
import math
import os
from collections.abc import Iterator, Mapping
from typing import Any

from . import _display as display

__all__ = ["Amount", "Evaluation", "Plan", "Receipt", "Report", "Summary"]

#: Accountants in words.
_METHODS = {
    "exact": "exact Gaussian composition",
    "pld": "privacy loss distributions",
    "rdp": "Renyi DP",
    "zcdp": "zero-concentrated DP",
    "composition": "composition of pure mechanisms",
}


class Amount:
    """An epsilon at a delta.

    Examples
    --------
    >>> Amount(1.0, 1e-6)
    Amount(epsilon=1.0, delta=1e-06)
    """

    __slots__ = ("delta", "epsilon")

    def __init__(self, epsilon: float, delta: float) -> None:
        self.epsilon = epsilon
        self.delta = delta

    def __repr__(self) -> str:
        return f"Amount(epsilon={self.epsilon!r}, delta={self.delta!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Amount) and (self.epsilon, self.delta) == (other.epsilon, other.delta)

    def __hash__(self) -> int:
        return hash((self.epsilon, self.delta))


class Receipt(Mapping[str, Any]):
    """What was spent, on which releases, and under which assumptions. A mapping, as in the model file and the ledger."""

    def __init__(self, content: Mapping[str, Any], text: str) -> None:
        self._content = dict(content)
        self._text = text

    def __getitem__(self, key: str) -> Any:
        return self._content[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)

    @property
    def is_private(self) -> bool:
        """Whether there is a guarantee."""
        return isinstance(self["guarantee"], Mapping)

    @property
    def epsilon(self) -> float | None:
        """The epsilon that is guaranteed; none without privacy."""
        return float(self["guarantee"]["epsilon"]["upper"]) if self.is_private else None

    @property
    def delta(self) -> float | None:
        """The delta of the guarantee."""
        return float(self["guarantee"]["delta"]) if self.is_private else None

    @property
    def assumptions(self) -> list[str]:
        """What the guarantee rests on."""
        return list(self["assumptions"])

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        lines = self._text.split("\n")
        rows = [(group["what"], f"{group['made']} of {group['planned']}", group["width"]) for group in self["groups"]]
        head = [display.paragraph(lines[0], strong=True), display.paragraph(f"{lines[1]}; ledger: {self['ledger']}")]
        parts = [*head, display.table(("release", "made", "numbers in each"), rows), display.details("assumptions", self.assumptions)]
        return display.box(*parts)


class Plan(Mapping[str, Any]):
    """What a fit would release, cost and achieve. No record was read for it, so it is public."""

    def __init__(self, content: Mapping[str, Any], forecast: Mapping[str, Any] | None = None) -> None:
        self._content = dict(content)
        self.forecast = dict(forecast) if forecast is not None else None

    def __getitem__(self, key: str) -> Any:
        return self._content[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)

    @property
    def epsilon(self) -> float | None:
        """What the fit would cost; none without privacy."""
        return float(self["cost"]["epsilon"]["upper"]) if self["cost"] else None

    @property
    def delta(self) -> float | None:
        """The delta of that cost."""
        return float(self["cost"]["delta"]) if self["cost"] else None

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the plan to a JSON file, to be edited and given to an estimator as `plan`."""
        with open(file, "w", encoding="utf-8") as out:
            json.dump(self["plan"], out, indent=2)

    def _lead(self) -> str:
        unit = self["privacy_unit"]
        records = f"{self['records']:,} " + ("records" if unit is None else f"privacy units (rows with the same {unit})")
        return f"A {'private ' if self['cost'] else ''}{self['model']} model: {records}, {self['inputs']} inputs"

    def _cost(self) -> str:
        if not self["cost"]:
            return "NOT PRIVATE: no noise"
        cost, epsilon = self["cost"], display.rounded_up(self["cost"]["epsilon"]["upper"])
        method = _METHODS.get(cost["method"], cost["method"])
        return f"Cost: epsilon {epsilon}, delta {display.power(cost['delta'])}, {cost['adjacency']} adjacency ({method})"

    def _releases(self) -> list[tuple[str, ...]]:
        weights = [release["times"] / release["noise_multiplier"] ** 2 if release["noise_multiplier"] else 0.0 for release in self["releases"]]
        total = sum(weights) or 1.0
        return [
            (release["what"], str(release["width"]), str(release["times"]), f"{release['clip']:.4g}", f"{release['noise_multiplier']:.4g}", f"{100 * weight / total:.0f} %")
            for release, weight in zip(self["releases"], weights)
        ]

    def _expected(self) -> list[tuple[str, str]]:
        rows = [(name, f"{value:.4g}") for name, value in self["expected"]]
        rows += [("time on one core, at most about", f"{self['seconds']:.1f} s"), ("memory, at most about", f"{self['memory'] / 1e6:.0f} MB")]
        if self.forecast:
            rows += [(f"{name}, on simulated records", f"{value:.4g}") for name, value in self.forecast["errors"]]
        return rows

    def _widths(self) -> list[tuple[str, str, str]]:
        if not self.forecast:
            return []
        shown = []
        for parameter in self.forecast["parameters"][:30]:
            unit = f" {parameter['unit']}" if parameter["unit"] else ""
            shown.append((parameter["name"], f"{parameter['half_width']:.3g}{unit}", f"{parameter['without_noise']:.3g}{unit}"))
        return shown

    def __str__(self) -> str:
        header = ("release", "numbers", "times", "clipping norm", "noise multiplier", "share of the budget")
        text = f"{self._lead()}\n\n{display.columns([header, *self._releases()])}\n{self._cost()}\n\nExpected\n{display.columns(self._expected())}"
        if self._widths():
            text += "\nHalf the width of 95 % intervals, on simulated records\n"
            text += display.columns([("", "with noise", "without"), *self._widths()])
        return text + "\nWhy\n" + "".join(f"- {reason}\n" for reason in self["why"])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        header = ("release", "numbers", "times", "clipping norm", "noise multiplier", "share of the budget")
        parts = [display.paragraph(self._lead(), strong=True), display.table(header, self._releases()), display.paragraph(self._cost())]
        parts.append(display.table(("expected", ""), self._expected()))
        if self._widths():
            parts.append(display.table(("half the width of 95 % intervals", "with noise", "without"), self._widths()))
        return display.box(*parts, display.details("why", self["why"]))


class Summary(list[dict[str, Any]]):
    """The posterior of each parameter, in the units of the schema: a list of dicts, which shows as a table.

    Keys are ``name``, ``variable``, ``place`` (dimension and label), ``unit``, ``note``, ``mean``, ``sd``, ``records_sd`` and ``privacy_sd`` (the parts
    of the standard deviation), ``quantiles`` (at .025, .25, .5, .75, .975) and ``direction`` (how probable the sign is).
    """

    def __init__(self, rows: list[dict[str, Any]], lead: str, text: str) -> None:
        super().__init__(rows)
        self._lead = lead
        self._text = text

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def __getitem__(self, key: Any) -> Any:
        """A row by its number, or the row of a parameter by its name."""
        if isinstance(key, str):
            found = next((row for row in self if row["name"] == key), None)
            if found is None:
                close = difflib.get_close_matches(key, names := [row["name"] for row in self], n=3, cutoff=0.3)
                raise KeyError(f"there is no parameter {key!r}; names are such as {', '.join(repr(name) for name in close or names[:3])}")
            return found
        return super().__getitem__(key)

    def columns(self) -> dict[str, list[Any]]:
        """The same as columns, for a table of any library: ``pandas.DataFrame(summary.columns())``."""
        names = ("name", "unit", "mean", "sd", "records_sd", "privacy_sd")
        made: dict[str, list[Any]] = {name: [row[name] for row in self] for name in names}
        for place, name in enumerate(("q2.5", "q25", "q50", "q75", "q97.5")):
            made[name] = [row["quantiles"][place] for row in self]
        made["direction"] = [row["direction"] for row in self]
        return made

    def to_pandas(self) -> Any:
        """The same as a pandas table."""
        import pandas

        return pandas.DataFrame(self.columns()).set_index("name")

    def _repr_html_(self) -> str:
        def row(item: dict[str, Any]) -> tuple[str, ...]:
            sd, (low, *_, high) = item["sd"], item["quantiles"]
            note = f" ({item['note']})" if item["note"] else ""
            direction = "" if item["direction"] is None else f"{item['direction']:.3f}" if item["direction"] <= 0.999 else "> 0.999"
            interval = f"[{display.short(low, sd)}, {display.short(high, sd)}]" if sd > 0 else ""
            parts = (display.short(item["records_sd"], sd), display.short(item["privacy_sd"], sd)) if sd > 0 else ("", "")
            return (item["name"] + note, display.short(item["mean"], sd), display.short(sd, sd), interval, direction, *parts, item["unit"] or "")

        shown = [row(item) for item in self[:60]]
        header = ("", "mean", "sd", "95 % interval", "direction", "sd: records", "sd: privacy", "unit")
        more = [display.paragraph(f"and {len(self) - 60} more")] if len(self) > 60 else []
        return display.box(display.paragraph(self._lead), display.table(header, shown), *more)


class Report:
    """One HTML page about a model. It shows in a notebook, and `save` writes it to a file."""

    def __init__(self, page: str) -> None:
        self.html = page

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the page to a file."""
        with open(file, "w", encoding="utf-8") as out:
            out.write(self.html)

    def __repr__(self) -> str:
        return f"Report of {len(self.html):,} characters: `save` writes it to a file"

    def _repr_html_(self) -> str:
        # In a frame of its own: the page has its own style, and a policy that forbids scripts.
        return f'<iframe srcdoc="{html.escape(self.html, quote=True)}" style="width:100%;height:40em;border:1px solid rgba(128,128,128,.4)" sandbox></iframe>'


class Evaluation(Mapping[str, Any]):
    """A private evaluation on test records, with its receipt. All of it may be published."""

    def __init__(self, content: Mapping[str, Any], text: str) -> None:
        self._content = dict(content)
        self._text = text

    def __getitem__(self, key: str) -> Any:
        return self._content[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)

    @property
    def figures(self) -> dict[str, dict[str, Any]]:
        """The figures of the first model by name: value, 95 % interval, and the standard deviations of the sample and of the noise."""
        return {figure["name"]: figure for figure in self["evaluated"]["models"][0]["figures"]}

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        def row(name: str, figure: Mapping[str, Any]) -> tuple[str, ...]:
            sd = math.hypot(figure["records_sd"], figure["privacy_sd"])
            numbers = [display.short(figure[key], sd) for key in ("value", "lower", "upper", "records_sd", "privacy_sd")]
            return (name, numbers[0], f"[{numbers[1]}, {numbers[2]}]", *numbers[3:])

        content = self["evaluated"]
        header = ("value", "95 % interval", "sd: records", "sd: privacy")
        parts = [display.paragraph("Private evaluation on test records", strong=True)]
        parts += [display.table(("", *header), [row("number of test records", content["records"])])]
        for name, model in zip(self["models"], content["models"]):
            parts.append(display.table((name, *header), [row(figure["name"], figure) for figure in model["figures"]]))
            bins = [row(f"{item['predicted']:.3f}", item["observed"]) for item in model.get("calibration") or []]
            if bins:
                parts.append(display.table(("predicted probability", "observed", *header[1:]), bins))
        parts += [display.paragraph(note) for note in self["notes"]]
        receipt = self._text.partition("\nReceipt of the test records\n")[2]
        return display.box(*parts, display.details("receipt of the test records", [line.removeprefix("- ") for line in receipt.strip().split("\n")]))
