"""Conjugate models of columns: rates, shares, means, covariances and counts."""

from __future__ import annotations

from .models import of_module

globals().update(of_module("conjugate"))
__all__ = list(of_module("conjugate"))  # pyright: ignore[reportUnsupportedDunderAll]
