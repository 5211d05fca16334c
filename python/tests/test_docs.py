"""Every snippet of Python in the documentation runs, prints what is stated there, and so do the examples of docstrings."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import importlib.util
import io
import pkgutil
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

import reticent as rt
from reticent.models import ESTIMATORS

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "docs/python.md", "crates/python/README.md"]

#: Libraries that snippets import, beside those that the package needs.
NEEDED = {"pandas", "polars", "arviz_base", "arviz", "matplotlib", "dp_accounting"}

_FENCE = re.compile(r"^```(\w[^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"(?:[<>] )?(?<![\w.])[-+]?\d[\d.,:+-]*(?:e[-+]?\d+)?")


def snippets(page: str) -> list[tuple[str, str | None]]:
    """The snippets of a page, each with the output that follows it."""
    text = (ROOT / page).read_text(encoding="utf-8")
    fences = list(_FENCE.finditer(text))
    found = []
    for fence, after in zip(fences, [*fences[1:], None]):
        if fence[1].split()[0] != "python":
            continue
        follows = after is not None and after[1] == "text" and not text[fence.end() : after.start()].strip()
        found.append((fence[2], after[2] if follows and after is not None else None))
    return found


def form(line: str) -> str:
    """A line without what the noise changes: numbers, and the widths of columns."""
    return re.sub(r"\s+", " ", _NUMBER.sub("#", line)).strip()


def agrees(printed: str, stated: str) -> bool:
    """Whether an output is the one that is stated, apart from numbers; `...` stands for any lines, or for the rest of one."""
    lines = [form(line) for line in stated.strip().splitlines()]
    pattern = "\n".join("(?:.*\n)*.*" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") for line in lines)
    return re.fullmatch(pattern, "\n".join(form(line) for line in printed.strip().splitlines())) is not None


@pytest.mark.parametrize("page", PAGES)
def test_snippets_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = snippets(page)
    assert found, "no snippet"
    for library in sorted(NEEDED):
        if any(re.search(rf"^\s*(?:import|from) {library}\b", code, re.MULTILINE) for code, _ in found):
            pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for number, (code, stated) in enumerate(found, 1):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("error", rt.PrivacyWarning)
            warnings.simplefilter("ignore", rt.ModelWarning)
            exec(compile(code, f"{page}, snippet {number}", "exec"), namespace)
        if stated is not None:
            assert agrees(printed.getvalue(), stated), f"snippet {number} of {page} prints\n{printed.getvalue()}"


def test_outputs_are_compared() -> None:
    assert agrees("epsilon 0.97  of 2\nb", "epsilon 1.0 of 3\nb\n")
    assert agrees("a\nb\nc", "a\n...\n")
    assert agrees("direction 0.99 x", "direction > 0.999 x")
    assert not agrees("epsilon 1\nb", "epsilon 1\nc")
    assert not agrees("a\nb", "a")


def modules() -> list[str]:
    names = [f"reticent.{module.name}" for module in pkgutil.iter_modules(rt.__path__) if module.name != "_core"]
    return ["reticent", *names]


@pytest.mark.parametrize("name", modules())
@pytest.mark.filterwarnings("ignore")
def test_examples_of_docstrings(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0, name


def test_the_front_page_lists_every_estimator() -> None:
    text = (ROOT / "crates/python/README.md").read_text(encoding="utf-8")
    listed = {(match[1], match[2]) for match in re.finditer(r"^\| `(\w+)\.(\w+)` \|", text, re.MULTILINE)}
    assert listed == {(estimator.__module__.removeprefix("reticent."), name) for name, estimator in ESTIMATORS.items()}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        own = re.fullmatch(r"https://github\.com/reticent-dp/reticent/(?:blob|tree)/main/(.+)", target)
        if own:
            assert (ROOT / own[1]).exists(), target
        elif not target.startswith("https:"):
            # The front page is read elsewhere, where relative links lead nowhere.
            assert page != "crates/python/README.md" and (ROOT / page).parent.joinpath(target).exists(), target
