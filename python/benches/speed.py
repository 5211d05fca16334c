"""CPU seconds and memory of the same fit by the library, by Python and by the command line, in one run.

    cargo build --release && maturin develop --release
    python python/benches/speed.py [--records 1000000] [--columns 20]

Prints a table of ratios. Aims: Python from memory at most 1.1 times the library, never slower than the command line on the same file, and no copy of the
table beside the encoded one.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def least(run: Any, times: int) -> float:
    found = []
    for _ in range(times):
        begin = cpu()
        run()
        found.append(cpu() - begin)
    return min(found)


def peak() -> float:
    """The largest resident memory so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--model", default="logistic")
    chosen = parser.parse_args()
    import pyarrow
    import pyarrow.parquet

    import reticent as rt
    from reticent.models import ESTIMATORS

    estimator = next(e for e in ESTIMATORS.values() if e._declared["name"] == chosen.model)
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, (chosen.records, chosen.columns))
    y = random.random(chosen.records) < 1 / (1 + np.exp(-X[:, :3].sum(axis=1)))
    names = [f"x{k}" for k in range(chosen.columns)]
    schema = rt.Schema.of({name: (-1, 1) for name in names}, target=("y", bool if chosen.model == "logistic" else rt.bounds(0, 1)))
    folder = Path(tempfile.mkdtemp())
    table = pyarrow.table({**{name: X[:, k] for k, name in enumerate(names)}, "y": y if chosen.model == "logistic" else y.astype(float)})
    pyarrow.parquet.write_table(table, folder / "records.parquet")
    schema.save(folder / "schema.toml")

    def fit(records: Any, target: Any = None) -> None:
        estimator(epsilon=1, delta=1e-8, schema=schema, progress=False).fit(records, target)

    bench = ["cargo", "bench", "--quiet", "-p", "reticent", "--bench", "fit", "--", str(folder / "records.parquet"), str(folder / "schema.toml"), chosen.model, str(chosen.times)]
    library = float(subprocess.run(bench, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip().splitlines()[-1])
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    program = Path(target) / "release" / "reticent"
    begin = children()
    for place in range(chosen.times):
        words = [program, "fit", chosen.model, "--data", folder / "records.parquet", "--schema", folder / "schema.toml", "--epsilon", "1", "--delta", "1e-8"]
        subprocess.run([*words, "--out", folder / f"{place}.reticent", "--quiet"], check=True)
    command = (children() - begin) / chosen.times
    rows = [
        ("library, record batches in memory", library, library),
        ("Python, the same batches", least(lambda: fit(table), chosen.times), library),
        ("Python, a matrix and its target", least(lambda: fit(X, y), chosen.times), library),
        ("command line, a Parquet file", command, command),
        ("Python, the same file", least(lambda: fit(folder / "records.parquet"), chosen.times), command),
    ]
    print(f"{chosen.model}, {chosen.records:,} x {chosen.columns}: CPU seconds, the least of {chosen.times} (command line: the mean)")
    for name, seconds, base in rows:
        print(f"  {name:36} {seconds:6.2f}  {seconds / base:5.2f} x")
    encoded = 8e-6 * chosen.records * (chosen.columns + 1)
    code = (
        "import sys, numpy as np, reticent as rt; from reticent.models import ESTIMATORS as E\n"
        "n, d, name = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]\n"
        "e = next(c for c in E.values() if c._declared['name'] == name)\n"
        "X = np.random.default_rng(0).uniform(-1, 1, (n, d)); y = X[:, 0] > 0\n"
        "fit = lambda X, y: e(epsilon=1, delta=1e-8, bounds=(-1, 1), progress=False, **({'classes': [False, True]} if name == 'logistic' else {'target_bounds': (0, 1)})).fit(X, y)\n"
        "fit(X[:1000], y[:1000]) if n > 1000 else None\n"
        "size = lambda name: int(next(line.split()[1] for line in open('/proc/self/status') if line.startswith(name)))\n"
        "open('/proc/self/clear_refs', 'w').write('5'); before = size('VmRSS')\n"
        "fit(X, y)\nprint((size('VmHWM') - before) / 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code.replace("1e-8, bounds", "1e-8, allow_large_delta=True, bounds"), str(chosen.records), str(chosen.columns), chosen.model], capture_output=True, text=True, check=True)
    more = float(done.stdout)
    print(f"  memory of a fit to a matrix beside it: {more:.0f} MB, {more / encoded:.2f} x the encoded table ({encoded:.0f} MB)")


if __name__ == "__main__":
    begin_all = time.time()
    main()
    print(f"  ({time.time() - begin_all:.0f} s in all)")
