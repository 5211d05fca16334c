"""Writes the type stubs of the estimators, which are made when the package is imported: ``python python/stubs.py``. A test compares them."""

from __future__ import annotations

import inspect
from pathlib import Path

from reticent.models import ESTIMATORS

PACKAGE = Path(__file__).parent / "reticent"

#: Types of parameters that all estimators have.
TYPES = {
    "epsilon": "float | None",
    "delta": "float",
    "schema": "Schema | None",
    "bounds": "Any",
    "classes": "Sequence[Any] | None",
    "target_bounds": "Any",
    "session": "Session | None",
    "adjacency": 'Literal["replace-one", "add-remove"]',
    "records": "int | None",
    "privacy_unit": "str | None",
    "rows_per_unit": "int | None",
    "assume_public": "bool",
    "bounds_share": "float | None",
    "use_plan": "Any",
    "memory": "int | None",
    "out": "str | os.PathLike[str] | None",
    "overwrite": "bool",
    "holdout": "float | None",
    "allow_large": "bool",
    "allow_large_delta": "bool",
    "progress": "bool | Progress | None",
}
HEAD = """# Written by `python python/stubs.py` from what the models declare.
import os
from collections.abc import Sequence
from typing import Any, Literal

from ._estimator import {bases}
from ._progress import Progress
from .schema import Schema
from .session import Session
"""


def stubs() -> dict[str, str]:
    """The content of each stub, by the name of its file."""
    modules: dict[str, list[type]] = {}
    for estimator in ESTIMATORS.values():
        modules.setdefault(estimator.__module__.rsplit(".", 1)[1], []).append(estimator)
    made = {}
    for module, estimators in modules.items():
        bases = sorted({estimator.__bases__[0].__name__ for estimator in estimators})
        made[f"{module}.pyi"] = HEAD.format(bases=", ".join(bases)) + "".join(map(_class, estimators))
    names = "".join(f"from .{module} import {', '.join(f'{e.__name__} as {e.__name__}' for e in estimators)}\n" for module, estimators in modules.items())
    made["models.pyi"] = (
        "# Written by `python python/stubs.py` from what the models declare.\nfrom typing import Any\n\nfrom ._estimator import PrivateEstimator\n"
        f"{names}\nESTIMATORS: dict[str, type[PrivateEstimator]]\n\ndef declarations() -> list[dict[str, Any]]: ...\n"
        "def of_module(module: str) -> dict[str, type[PrivateEstimator]]: ...\n"
    )
    return made


def _class(estimator: type) -> str:
    settings = {parameter["name"]: parameter for parameter in estimator._declared["settings"]}  # type: ignore[attr-defined]
    kinds = {"number": "float", "integer": "int", "flag": "bool"}
    lines = [f"\nclass {estimator.__name__}({estimator.__bases__[0].__name__}):\n    def __init__(\n        self,\n"]
    for name, parameter in inspect.signature(estimator).parameters.items():
        if name == "schema":
            lines.append("        *,\n")
        kind = TYPES.get(name)
        if kind is None:
            setting = next(setting for key, setting in settings.items() if key.replace("-", "_") in (name, name.removesuffix("_setting")))
            choices = ", ".join(f'"{word}"' for word in setting["limits"]) if setting["kind"] == "choice" else ""
            kind = (f"Literal[{choices}]" if choices else kinds[setting["kind"]]) + " | None"
        lines.append(f"        {name}: {kind} = ...,\n")
    return "".join([*lines, "    ) -> None: ...\n"])


if __name__ == "__main__":
    for file, text in stubs().items():
        (PACKAGE / file).write_text(text)
