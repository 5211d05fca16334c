"""Weighted second moments with NumPy: the shortest of several, in seconds of processor time.

BLAS does the product; the bench that calls this sets its threads to one.
"""

import sys
import time

import numpy as np

RECORDS, COLUMNS, REPEATS = (int(argument) for argument in sys.argv[1:])

rng = np.random.default_rng(1)
x, w = rng.random((RECORDS, COLUMNS)), rng.random((RECORDS, 1))
shortest = float("inf")
for _ in range(REPEATS):
    before = time.process_time()
    x.T @ (w * x)
    shortest = min(shortest, time.process_time() - before)
print(shortest)
