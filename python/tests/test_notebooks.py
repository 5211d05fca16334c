"""Notebooks run from start to end in a fresh kernel. They are kept without outputs."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
NAMES = [notebook.stem for notebook in NOTEBOOKS]


def test_there_are_notebooks() -> None:
    assert {"quickstart", "hospital", "researcher"} <= set(NAMES)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=NAMES)
def test_notebooks_have_no_outputs_and_no_paths(notebook: Path) -> None:
    content = json.loads(notebook.read_text(encoding="utf-8"))
    identifiers = [cell["id"] for cell in content["cells"]]
    assert len(set(identifiers)) == len(identifiers)
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None, cell["id"]
        text = "".join(cell["source"])
        assert not re.search(r"(?:/home/|/root/|/Users/|/tmp/|[A-Z]:\\)", text), cell["id"]
        assert all(len(line.rstrip("\n")) <= 200 for line in cell["source"]), cell["id"]
    assert notebook.stat().st_size < 40_000


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=NAMES)
def test_notebooks_run(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient", reason="notebooks are run by nbclient")
    nbformat = pytest.importorskip("nbformat", reason="notebooks are run by nbclient")
    content = nbformat.read(notebook, as_version=4)
    imported = set(re.findall(r"^(?:import|from) (\w+)", "\n".join(cell.source for cell in content.cells if cell.cell_type == "code"), re.MULTILINE))
    for module in sorted({"ipykernel", *imported} - {"reticent", "time"}):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{notebook.stem} needs {module}")
    if "arviz" in imported and int(importlib.metadata.version("arviz").split(".")[0]) < 1:
        pytest.skip(f"{notebook.stem} needs arviz 1, and Python 3.12 for it")
    # The kernel of this environment, and none that somebody has installed for themselves.
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    started = time.monotonic()
    client = nbclient.NotebookClient(content, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}})
    client.execute(env=dict(os.environ))
    assert time.monotonic() - started < 300
    outputs: list[Any] = [output for cell in content.cells if cell.cell_type == "code" for output in cell.outputs]
    assert outputs
    assert not [output for output in outputs if output.output_type == "error"]
    shown = "".join(output.text for output in outputs if output.output_type == "stream" and output.name == "stderr")
    assert "Traceback" not in shown
    assert not re.search(r"\w*(?:Warning|Error)\b", shown), shown
