"""Hidden Markov models of regions over time."""

from __future__ import annotations

from .models import of_module

globals().update(of_module("hmm"))
__all__ = list(of_module("hmm"))  # pyright: ignore[reportUnsupportedDunderAll]
