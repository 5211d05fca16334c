"""Bayesian neural networks, and sigmoid belief networks."""

from __future__ import annotations

from .models import of_module

globals().update(of_module("neural_network"))
__all__ = list(of_module("neural_network"))  # pyright: ignore[reportUnsupportedDunderAll]
