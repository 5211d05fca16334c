"""The updates of Algorithm 5 with NumPy, vectorised over records: the fastest of several, in nanoseconds of processor time a record, as JSON.

BLAS does the products; the bench that calls this sets its threads to one.
"""

import json
import sys
import time

import numpy as np

RECORDS, BATCH = int(sys.argv[1]), int(sys.argv[2])


def statistics(x, half, mean, covariance):
    second = covariance + np.outer(mean, mean)
    c = np.sqrt(np.maximum(np.einsum("ni,ni->n", x @ second, x), 1e-12))
    omega = np.tanh(0.5 * c) / (2.0 * c)
    return x.T @ half, x.T @ (omega[:, None] * x)


def maximise(first, second, alpha):
    covariance = np.linalg.inv(second + alpha * np.eye(len(first)))
    return covariance @ first, covariance


class Batches:
    """Updates about random batches, with noise: equations 46 to 54 of the paper."""

    def __init__(self, x, half, rng):
        self.x, self.half, self.rng, self.steps = x, half, rng, 0
        self.first, self.second = np.zeros(x.shape[1]), np.zeros((x.shape[1], x.shape[1]))
        self.mean, self.covariance, self.alpha = self.first, np.eye(x.shape[1]), 1.0

    def update(self):
        d = len(self.first)
        rows = self.rng.choice(RECORDS, BATCH, replace=False, shuffle=False)
        first, second = statistics(self.x[rows], self.half[rows], self.mean, self.covariance)
        first += self.rng.normal(scale=0.01, size=d)
        noise = np.triu(self.rng.normal(scale=0.01, size=(d, d)))
        second += noise + np.triu(noise, 1).T
        self.steps += 1
        rho = (1024 + self.steps) ** -0.7
        self.first = (1 - rho) * self.first + rho * RECORDS / BATCH * first
        self.second = (1 - rho) * self.second + rho * RECORDS / BATCH * second
        values, vectors = np.linalg.eigh(self.second)
        if values[0] < 0:
            self.second = (vectors * np.maximum(values, 0)) @ vectors.T
        self.mean, self.covariance = maximise(self.first, self.second, self.alpha)
        self.alpha = (1 + 0.5 * d) / (1 + 0.5 * (self.mean @ self.mean + np.trace(self.covariance)))


def least(times, records, work):
    """The shortest of several windows, of work that is done so many times in each."""
    found = []
    for _ in range(15):
        start = time.process_time()
        for _ in range(times):
            work()
        found.append(time.process_time() - start)
    return min(found) * 1e9 / (times * records)


def fastest(inputs):
    rng = np.random.default_rng(1)
    x = np.c_[rng.uniform(-1, 1, (RECORDS, inputs)), np.ones(RECORDS)]
    half = 0.5 * np.sign(x[:, 0] + rng.uniform(-0.5, 0.5, RECORDS))
    known = [np.zeros(inputs + 1), np.eye(inputs + 1)]

    def update():
        known[:] = maximise(*statistics(x, half, *known), 1.0)

    return [least(1, RECORDS, update), least(200, BATCH, Batches(x, half, rng).update)]


print(json.dumps([fastest(int(inputs)) for inputs in sys.argv[3:]]))
