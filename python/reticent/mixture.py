"""Mixtures of Gaussian components."""

from __future__ import annotations

from .models import of_module

globals().update(of_module("mixture"))
__all__ = list(of_module("mixture"))  # pyright: ignore[reportUnsupportedDunderAll]
