"""Texts and HTML of what people look at."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

#: Neutral colours that suit light and dark notebooks.
_STYLE = (
    "<style>.reticent table{border-collapse:collapse;margin:.5em 0 1em;font-variant-numeric:tabular-nums}.reticent td,.reticent th{padding:.15em .7em;white-space:nowrap;"
    "text-align:right;border-bottom:1px solid rgba(128,128,128,.3)}.reticent td:first-child,.reticent th:first-child{text-align:left}"
    ".reticent summary{cursor:pointer}</style>"
)


def box(*parts: str) -> str:
    """Parts of HTML as one."""
    return f'<div class="reticent">{_STYLE}{"".join(parts)}</div>'


def paragraph(text: str, strong: bool = False) -> str:
    """A paragraph."""
    shown = html.escape(text)
    return f"<p><b>{shown}</b></p>" if strong else f"<p>{shown}</p>"


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table."""
    head = "".join(f"<th>{html.escape(str(cell))}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def details(title: str, items: Iterable[str]) -> str:
    """A list that is folded."""
    return f"<details><summary>{html.escape(title)}</summary><ul>{''.join(f'<li>{html.escape(item)}</li>' for item in items)}</ul></details>"


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Left-aligned columns of text, two spaces apart."""
    count = max((len(row) for row in rows), default=0)
    widths = [max((len(row[k]) for row in rows if k < len(row)), default=0) for k in range(count)]
    return "".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() + "\n" for row in rows)


def rounded_up(epsilon: float) -> str:
    """An upper bound with five digits, not below it."""
    import math

    if not math.isfinite(epsilon) or epsilon <= 0.0:
        return str(epsilon)
    digits = max(4 - math.floor(math.log10(epsilon)), 0)
    return f"{math.ceil(epsilon * 10**digits - 1e-9) / 10**digits:.{digits}f}"


def power(delta: float) -> str:
    """A small number without a zero in its exponent: 1e-6."""
    mantissa, mark, exponent = f"{delta:g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if mark else mantissa


def short(value: float, sd: float | None = None) -> str:
    """A number with two digits of its uncertainty, or four significant digits."""
    import math

    if not math.isfinite(value):
        return str(value)
    if sd is not None and math.isfinite(sd) and sd > 0:
        digits = min(max(1 - math.floor(math.log10(sd)), 0), 12)
        return f"{value:.{digits}f}"
    return f"{value:.4g}"
