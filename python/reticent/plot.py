"""Pictures by matplotlib, which is not needed otherwise. All of them are as public as the model."""

from __future__ import annotations

from typing import Any

from ._display import power
from ._errors import SettingsError

__all__ = ["plot_budget", "plot_effects"]

_RECORDS = "#1f5f9e"
_DARK = "#5b93c7"
_PRIVACY = "#c3dcf2"


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
    from matplotlib.patches import Patch

    effects = fitted.effects()
    if effects is None or not effects["columns"]:
        raise SettingsError("the model has no effects", "fit a model with a target")
    shown = effects["columns"][:columns]
    model = getattr(fitted, "model_", fitted)
    what = _scale(effects["scale"], model.schema.columns["target"])
    own = ax is None
    if own:
        wide = 2 if len(shown) == 4 else min(3, len(shown))
        tall = -(-len(shown) // wide)
        figure, axes = plt.subplots(tall, wide, figsize=(3.4 * wide, 2.9 * tall), sharey=True, squeeze=False, layout="constrained")
        ax = axes.ravel()
        figure.supylabel(what, fontsize="medium")
    axes = np.atleast_1d(ax).ravel()
    for axis, effect in zip(axes, shown):
        points = effect["points"]
        means = [point["mean"] for point in points]
        if effect["levels"]:
            _levels(axis, points, means)
        else:
            _curve(axis, points, means)
        axis.axhline(0.0, color="0.6", linewidth=0.8, zorder=0)
        unit = effect["unit"] if effect["unit"] and effect["unit"] != effect["column"] else ""
        axis.set_xlabel(f"{effect['column']} ({unit})" if unit else effect["column"])
        axis.set_title(f"against {effect['reference']} {effect['unit'] or ''}".rstrip(), fontsize="small", color="0.35")
    for axis in axes[len(shown) :]:
        axis.set_visible(False)
    keys = [Patch(color=_DARK, label="records alone"), Patch(color=_PRIVACY, label="with the privacy noise")]
    if all(point["records"] for effect in shown for point in effect["points"]):
        if own:
            figure.legend(handles=keys, title="95 % interval", loc="outside lower center", ncols=2, frameon=False, fontsize="small", title_fontsize="small")
        else:
            axes[0].legend(handles=keys, frameon=False, fontsize="small")
    if not own:
        axes[0].set_ylabel(what)
    return axes


def _scale(scale: str, target: dict[str, Any] | None) -> str:
    """What changes, for an axis."""
    if target is None:
        return "change"
    if scale == "probability":
        levels = target["levels"]
        return f"change of P({target['name']} = {levels[-1]})" if len(levels) == 2 else "change of the probability"
    return f"change of {target['name']}" + (f" ({target['unit']})" if target["unit"] else "")


def _curve(axis: Any, points: list[dict[str, Any]], means: list[float]) -> None:
    at = [point["at"] for point in points]
    for key, colour in (("interval", _PRIVACY), ("records", _DARK)):
        if all(point[key] for point in points):
            low, high = zip(*(point[key] for point in points))
            axis.fill_between(at, low, high, color=colour, linewidth=0)
    axis.plot(at, means, color=_RECORDS, linewidth=1.6)


def _levels(axis: Any, points: list[dict[str, Any]], means: list[float]) -> None:
    places = range(len(points))
    for key, colour, width in (("interval", _PRIVACY, 9.0), ("records", _DARK, 9.0)):
        for place, point in zip(places, points):
            if point[key]:
                axis.plot([place, place], point[key], color=colour, linewidth=width, solid_capstyle="butt")
    axis.plot(list(places), means, "o", color=_RECORDS, markersize=4)
    labels = [point["label"] for point in points]
    # Long labels would overlap.
    turned = sum(len(label) + 2 for label in labels) > 34
    axis.set_xticks(list(places), labels, rotation=30 if turned else 0, ha="right" if turned else "center")
    axis.set_xlim(-0.6, len(points) - 0.4)


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
    ax.set_xlabel(f"epsilon at delta {power(account['cap']['delta'])}")
    ax.set_title(f"{session.data_set}: spent epsilon {spent:.3g} of {cap:g}", fontsize="medium", loc="left")
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    return ax
