"""Progress of a fit: a line in a terminal, a bar in a notebook. Names and numbers of releases are public."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

#: Called before each release with what it is, its number, and how many there are of its kind.
Progress = Callable[[str, int, int], None]


def reporter(progress: bool | Progress | None) -> tuple[Progress | None, Callable[[], None]]:
    """What to call before each release, and at the end. By default there is a bar where somebody can see it."""
    nothing: tuple[None, Callable[[], None]] = (None, lambda: None)
    if callable(progress):
        return progress, lambda: None
    if progress is False:
        return nothing
    if progress is not None and progress is not True:
        from ._errors import SettingsError

        raise SettingsError("`progress` is True, False or a function", "leave it out for a bar where somebody can see it")
    notebook = _marimo() or _jupyter()
    if notebook is not None:
        return notebook
    if progress or sys.stderr.isatty():
        return _terminal()
    return nothing


def _bar(step: int, planned: int) -> str:
    return f"{step} of {planned}"


def _terminal() -> tuple[Progress, Callable[[], None]]:
    width = 0
    last = 0.0

    def show(what: str, step: int, planned: int) -> None:
        nonlocal width, last
        now = time.monotonic()
        if now - last < 0.1 and step not in (1, planned):
            return
        last = now
        line = f"  {what}: {_bar(step, planned)}"
        sys.stderr.write("\r" + line.ljust(width))
        sys.stderr.flush()
        width = len(line)

    def end() -> None:
        if width:
            sys.stderr.write("\r" + " " * width + "\r")
            sys.stderr.flush()

    return show, end


def _jupyter() -> tuple[Progress, Callable[[], None]] | None:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None or "ipykernel" not in sys.modules:
        return None
    import html

    ipython: Any = importlib.import_module("IPython.display")
    handle = ipython.display(ipython.HTML(""), display_id=True)
    last = 0.0

    def show(what: str, step: int, planned: int) -> None:
        nonlocal last
        now = time.monotonic()
        if handle is None or (now - last < 0.1 and step not in (1, planned)):
            return
        last = now
        handle.update(ipython.HTML(f'<progress value="{step}" max="{planned}"></progress> {html.escape(what)}: {_bar(step, planned)}'))

    def end() -> None:
        if handle is not None:
            handle.update(ipython.HTML(""))

    return show, end


def _marimo() -> tuple[Progress, Callable[[], None]] | None:
    marimo = sys.modules.get("marimo")
    if marimo is None or not getattr(marimo, "running_in_notebook", lambda: False)():
        return None
    last = 0.0

    def show(what: str, step: int, planned: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= 0.1 or step in (1, planned):
            last = now
            marimo.output.replace(marimo.md(f"{what}: {_bar(step, planned)}"))

    return show, lambda: marimo.output.clear()
