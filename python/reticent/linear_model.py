"""Linear, logistic and probit regression, and regression by random features."""

from __future__ import annotations

from .models import of_module

globals().update(of_module("linear_model"))
__all__ = list(of_module("linear_model"))  # pyright: ignore[reportUnsupportedDunderAll]
