"""Naive Bayes."""

from __future__ import annotations

from .models import of_module

globals().update(of_module("naive_bayes"))
__all__ = list(of_module("naive_bayes"))  # pyright: ignore[reportUnsupportedDunderAll]
