"""Pictures by matplotlib, which is not needed otherwise. All of them are as public as the model."""

from __future__ import annotations

from typing import Any

from ._errors import SettingsError

__all__ = ["plot_budget", "plot_effects"]

_RECORDS = "#1f5f9e"
_PRIVACY = "#9ec5e8"


def plot_effects(fitted: Any, columns: int = 6, ax: Any = None) -> Any:
    """How the prediction changes along each column, with 95 % intervals from the records alone (dark) and with privacy noise (light).

    Parameters
    ----------
    fitted
        An estimator or a `Model` with a target.
    columns
        How many columns to show, those with the largest effects.
    ax
        Axes to draw on, one for each column; new ones unless given.
    """
    import matplotlib.pyplot as plt
    import numpy as np

    effects = fitted.effects()
    if effects is None or not effects["columns"]:
        raise SettingsError("the model has no effects", "fit a model with a target")
    shown = effects["columns"][:columns]
    if ax is None:
        wide = min(3, len(shown))
        tall = -(-len(shown) // wide)
        _, axes = plt.subplots(tall, wide, figsize=(3.4 * wide, 2.9 * tall), sharey=True, squeeze=False, layout="constrained")
        ax = axes.ravel()
    axes = np.atleast_1d(ax).ravel()
    for axis, effect in zip(axes, shown):
        points = effect["points"]
        means = [point["mean"] for point in points]
        if effect["levels"]:
            _levels(axis, points, means)
        else:
            _curve(axis, points, means)
        axis.axhline(0.0, color="0.6", linewidth=0.8, zorder=0)
        unit = f" ({effect['unit']})" if effect["unit"] else ""
        axis.set_xlabel(f"{effect['column']}{unit}")
        axis.set_title(f"against {effect['reference']}", fontsize="small", color="0.35")
    for axis in axes[len(shown) :]:
        axis.set_visible(False)
    what = "change of the probability" if effects["scale"] == "probability" else "change of the target"
    axes[0].set_ylabel(what)
    return axes


def _curve(axis: Any, points: list[dict[str, Any]], means: list[float]) -> None:
    at = [point["at"] for point in points]
    for key, colour in (("interval", _PRIVACY), ("records", _RECORDS)):
        if all(point[key] for point in points):
            low, high = zip(*(point[key] for point in points))
            axis.fill_between(at, low, high, color=colour, alpha=0.8 if key == "interval" else 0.35, linewidth=0)
    axis.plot(at, means, color=_RECORDS, linewidth=1.6)


def _levels(axis: Any, points: list[dict[str, Any]], means: list[float]) -> None:
    places = range(len(points))
    for key, colour, width in (("interval", _PRIVACY, 6.0), ("records", _RECORDS, 2.0)):
        for place, point in zip(places, points):
            if point[key]:
                axis.plot([place, place], point[key], color=colour, linewidth=width, solid_capstyle="butt")
    axis.plot(list(places), means, "o", color=_RECORDS, markersize=4)
    axis.set_xticks(list(places), [point["label"] for point in points], rotation=30 if len(points) > 3 else 0)


def plot_budget(session: Any, ax: Any = None) -> Any:
    """What is spent of the budget of a session: the joint cost of all runs at the delta of the cap, beside the cap."""
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(figsize=(6.0, 1.2), layout="constrained")
    account = session.account()
    cap, spent = account["cap"]["epsilon"], account["spent"]["epsilon"]
    ax.barh([0], [cap], color="0.9", height=0.6)
    ax.barh([0], [min(spent, cap)], color=_RECORDS, height=0.6)
    ax.set_xlim(0, cap)
    ax.set_yticks([])
    ax.set_xlabel(f"epsilon at delta {account['cap']['delta']:g}")
    ax.set_title(f"{session.data_set}: spent {spent:.3g} of {cap:g}", fontsize="medium", loc="left")
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    return ax
