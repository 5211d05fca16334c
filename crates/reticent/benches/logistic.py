"""The updates of Algorithm 5 with NumPy: nanoseconds a record, the median of five, one thread (set OMP_NUM_THREADS=1)."""

import statistics
import time

import numpy as np

RECORDS = 20_000


def update(x, half, mean, covariance, alpha):
    second = covariance + np.outer(mean, mean)
    c = np.sqrt(np.maximum(np.einsum("ni,ni->n", x @ second, x), 1e-12))
    omega = np.tanh(0.5 * c) / (2.0 * c)
    precision = (x * omega[:, None]).T @ x + alpha * np.eye(x.shape[1])
    covariance = np.linalg.inv(precision)
    return covariance @ (x.T @ half), covariance


for inputs in (10, 100):
    rng = np.random.default_rng(1)
    x = np.c_[rng.uniform(-1, 1, (RECORDS, inputs)), np.ones(RECORDS)]
    half = 0.5 * np.sign(x[:, 0] + rng.uniform(-0.5, 0.5, RECORDS))
    mean, covariance = np.zeros(inputs + 1), np.eye(inputs + 1)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        mean, covariance = update(x, half, mean, covariance, 1.0)
        times.append(time.perf_counter() - start)
    print(f"NumPy, inputs {inputs}: update {statistics.median(times) * 1e9 / RECORDS:.0f} ns a record")
