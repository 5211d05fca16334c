"""Topics of documents."""

from __future__ import annotations

from .models import of_module

globals().update(of_module("topics"))
__all__ = list(of_module("topics"))  # pyright: ignore[reportUnsupportedDunderAll]
