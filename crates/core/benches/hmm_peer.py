"""The sampler of benches/hmm.rs in NumPy: prints the CPU seconds of the shorter of two runs of 200 iterations."""

import sys
import time

import numpy as np

REGIONS, STEPS, FIELDS, STATES, ITERATIONS = 51, 36, (8, 12, 10, 9, 3), 10, 200
ALPHA = BETA = 1.0

counts = np.array(open(sys.argv[1]).read().split(), dtype=float).reshape(REGIONS * STEPS, sum(FIELDS))
ends = np.cumsum(FIELDS)
fields = [slice(end - length, end) for end, length in zip(ends, FIELDS)]


def laws(rng, states):
    """Draws the laws of all states; their logarithms, with a column for each state."""
    members = np.zeros((STATES, len(states)))
    members[states, np.arange(len(states))] = 1.0
    sums = members @ counts
    theta = np.empty_like(sums)
    for field in fields:
        draws = rng.standard_gamma(BETA + sums[:, field])
        theta[:, field] = draws / draws.sum(axis=1, keepdims=True)
    return np.log(np.maximum(theta, 1e-12)).T


def run(seed):
    rng = np.random.default_rng(seed)
    states = rng.integers(STATES, size=REGIONS * STEPS)
    moves = np.zeros((STATES + 1, STATES))
    for chain in states.reshape(REGIONS, STEPS):
        before = STATES
        for state in chain:
            moves[before, state] += 1
            before = state
    logs = laws(rng, states)
    for _ in range(ITERATIONS):
        likelihoods = counts @ logs
        likelihoods = np.exp(likelihoods - likelihoods.max(axis=1, keepdims=True))
        uniforms = rng.random(len(states))
        for cell in range(len(states)):
            step = cell % STEPS
            before = STATES if step == 0 else states[cell - 1]
            after = None if step == STEPS - 1 else states[cell + 1]
            moves[before, states[cell]] -= 1
            weights = (moves[before] + ALPHA) * likelihoods[cell]
            if after is not None:
                moves[states[cell], after] -= 1
                there = moves[:STATES, after] + ALPHA
                total = moves[:STATES].sum(axis=1) + STATES * ALPHA
                if before < STATES:
                    total[before] += 1
                    if before == after:
                        there[before] += 1
                weights *= there / total
            sums = np.cumsum(weights)
            state = min(int(np.searchsorted(sums, uniforms[cell] * sums[-1], side="right")), STATES - 1)
            states[cell] = state
            moves[before, state] += 1
            if after is not None:
                moves[state, after] += 1
        logs = laws(rng, states)
    return states


def seconds(seed):
    start = time.process_time()
    run(seed)
    return time.process_time() - start


print(min(seconds(seed) for seed in range(2)))
