"""Simulated records: nobody is in them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import reticent as rt


def ward(records: int = 4000, seed: int = 0) -> dict[str, Any]:
    """Patients of a ward: columns of several types."""
    random = np.random.default_rng(seed)
    age = random.uniform(18, 95, records)
    smoker = random.random(records) < 0.3
    unit = random.choice(["A", "B", "C"], records)
    score = (age - 60) / 10 + smoker - (unit == "B")
    return {
        "age": age,
        "smoker": smoker,
        "unit": unit,
        "stays": random.random(records) < 1 / (1 + np.exp(-score)),
        "days": np.clip(3 + 0.05 * age + 1.5 * smoker + random.normal(size=records), 0, 30),
    }


FEATURES: dict[str, Any] = {"age": rt.bounds(18, 95, unit="years"), "smoker": bool, "unit": ["A", "B", "C"]}


@pytest.fixture
def patients() -> dict[str, Any]:
    return ward()


@pytest.fixture
def stays() -> rt.Schema:
    return rt.Schema.of(FEATURES, target=("stays", bool))


@pytest.fixture
def days() -> rt.Schema:
    return rt.Schema.of(FEATURES, target=("days", rt.bounds(0, 30, unit="days")))


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Most tests fit several times without a session."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rt.BudgetWarning)
        warnings.simplefilter("ignore", rt.ModelWarning)
        yield
