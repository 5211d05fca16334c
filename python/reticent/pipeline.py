"""Pipelines: which steps before a private estimator would leak."""

from __future__ import annotations

from typing import Any

from ._errors import SettingsError

__all__ = ["check_pipeline"]


def check_pipeline(pipeline: Any) -> None:
    """Refuse a pipeline with steps that are fitted to the records before a private estimator.

    A step such as `StandardScaler` or `SimpleImputer` learns from all records: what it has learnt is used without noise, so that one record changes how all others
    are read, and no receipt covers it. Bounds in the schema do what a scaler does, from public facts.

    Parameters
    ----------
    pipeline
        A pipeline of scikit-learn, whose last step is the private estimator.

    Raises
    ------
    SettingsError
        If a step is fitted to data.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import Normalizer, StandardScaler
    >>> from reticent.linear_model import PrivateLogisticRegression
    >>> check_pipeline(make_pipeline(Normalizer(), PrivateLogisticRegression()))
    >>> check_pipeline(make_pipeline(StandardScaler(), PrivateLogisticRegression()))
    Traceback (most recent call last):
    ...
    reticent._errors.SettingsError: step 'standardscaler' is fitted to the records, and what it learns is not protected
    hint: leave it out: bounds in the schema scale columns by public facts
    """
    for name, step in _steps(pipeline)[:-1]:
        _check(str(name), step)


def _steps(pipeline: Any) -> list[tuple[Any, Any]]:
    steps = getattr(pipeline, "steps", None)
    if not steps:
        raise SettingsError("this is no pipeline", "give one of scikit-learn")
    return list(steps)


def _check(name: str, step: Any) -> None:
    from sklearn.utils import get_tags

    if step is None or isinstance(step, str):
        return
    if hasattr(step, "steps"):
        for inner, part in _steps(step):
            _check(f"{name}.{inner}", part)
        return
    parts = getattr(step, "transformers", None) or getattr(step, "transformer_list", None)
    if parts:
        for part in parts:
            _check(f"{name}.{part[0]}", part[1])
        return
    if get_tags(step).requires_fit:
        raise SettingsError(
            f"step {name!r} is fitted to the records, and what it learns is not protected",
            "leave it out: bounds in the schema scale columns by public facts",
        )
