"""The stubs of the estimators are what the registry declares."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def test_stubs_are_up_to_date() -> None:
    tool = Path(__file__).parents[1] / "stubs.py"
    spec = importlib.util.spec_from_file_location("stubs", tool)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for file, text in module.stubs().items():
        assert (tool.parent / "reticent" / file).read_text() == text, f"{file}: run python python/stubs.py"
