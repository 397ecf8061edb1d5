"""Small plots for the report, as SVG: bars of ratios, and growth on logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from xml.sax.saxutils import escape

_COLOURS = ("#1f6f8b", "#c8553d", "#588157", "#8e6c88", "#d4a017", "#6c757d", "#3d405b", "#b56576")
_HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
    ' font-family="sans-serif" font-size="11">\n<rect width="100%" height="100%" fill="white"/>\n'
)
_DASHES = ("", ' stroke-dasharray="7 3"', ' stroke-dasharray="2 2"')
_ROW = 18


def bars(title: str, ratios: Sequence[tuple[str, float]], goal: float | None = None) -> str:
    """Bars from 1 to the left (faster) and to the right (slower), on a logarithmic axis.

    >>> bars("ours / theirs", [("q01", 0.5), ("q02", 2.0)]).count("<rect")
    3
    """
    values = [value for _, value in ratios] + ([goal] if goal else [])
    low, high = _decades([*values, 1.0])
    width, left, height = 640, 110, 40 + _ROW * len(ratios) + 24

    def x(value: float) -> float:
        return left + (width - left - 70) * _along(value, low, high)

    lines = [_HEAD.format(width=width, height=height), _text(10, 18, title, 13)]
    bottom = height - 24
    for decade in range(low, high + 1):
        lines.append(_line(x(10.0**decade), 30, x(10.0**decade), bottom, "#e5e5e5"))
        lines.append(_text(x(10.0**decade), bottom + 14, _label(decade), anchor="middle"))
    for number, (name, value) in enumerate(ratios):
        y = 34 + _ROW * number
        begin, end = sorted((x(1), x(value)))
        colour = _COLOURS[0] if value <= 1 else _COLOURS[1]
        lines.append(
            f'<rect x="{begin:.1f}" y="{y}" width="{max(end - begin, 1):.1f}" height="12"'
            f' fill="{colour}"/>\n'
        )
        lines.append(_text(left - 6, y + 10, name, anchor="end"))
        lines.append(_text(end + 4, y + 10, f"{value:.2g}"))
    lines.append(_line(x(1), 30, x(1), bottom, "#444"))
    if goal and goal != 1:
        lines.append(_line(x(goal), 30, x(goal), bottom, "#444", dashed=True))
    return "".join(lines) + "</svg>\n"


def growth(
    title: str, across: str, up: str, series: Mapping[str, Sequence[tuple[float, float]]]
) -> str:
    """Lines on logarithmic axes; the grey ones show proportional growth."""
    points = [point for line in series.values() for point in line]
    left_end, right_end = _decades(point[0] for point in points)
    low, high = _decades(point[1] for point in points)
    width, height, left, top, right, bottom = 680, 420, 60, 34, 520, 376

    def x(value: float) -> float:
        return left + (right - left) * _along(value, left_end, right_end)

    def y(value: float) -> float:
        return bottom - (bottom - top) * _along(value, low, high)

    lines = [_HEAD.format(width=width, height=height), _text(10, 18, title, 13)]
    for decade in range(left_end, right_end + 1):
        lines.append(_line(x(10.0**decade), top, x(10.0**decade), bottom, "#e5e5e5"))
        lines.append(_text(x(10.0**decade), bottom + 14, _label(decade), anchor="middle"))
    for decade in range(low, high + 1):
        lines.append(_line(left, y(10.0**decade), right, y(10.0**decade), "#e5e5e5"))
        lines.append(_text(left - 6, y(10.0**decade) + 4, _label(decade), anchor="end"))
    for start in range(low - (right_end - left_end), high):
        steps = range(right_end - left_end + 1)
        inside = [s for s in steps if low <= start + s <= high]
        if len(inside) > 1:
            ends = [(10.0 ** (left_end + s), 10.0 ** (start + s)) for s in (inside[0], inside[-1])]
            (x1, y1), (x2, y2) = ends
            lines.append(_line(x(x1), y(y1), x(x2), y(y2), "#bbb", dashed=True))
    for number, (name, line) in enumerate(series.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in line)
        # lines of one colour differ by their dashes
        dashes = _DASHES[number // len(_COLOURS) % len(_DASHES)]
        lines.append(f'<polyline points="{path}" fill="none" stroke="{colour}"{dashes}/>\n')
        for a, b in line:
            lines.append(f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="2.5" fill="{colour}"/>\n')
        lines.append(_text(right + 10, top + 10 + 15 * number, name, colour=colour))
    lines.append(_text((left + right) / 2, height - 8, across, anchor="middle"))
    lines.append(_text(10, top - 4, up))
    return "".join(lines) + "</svg>\n"


def _decades(values: Iterable[float]) -> tuple[int, int]:
    """The powers of ten that enclose all values."""
    found = [value for value in values if value > 0]
    low, high = math.floor(math.log10(min(found))), math.ceil(math.log10(max(found)))
    return low, max(high, low + 1)


def _along(value: float, low: int, high: int) -> float:
    return (math.log10(value) - low) / (high - low)


def _label(decade: int) -> str:
    return f"{10.0**decade:g}"


def _text(
    x: float, y: float, text: str, size: int = 11, anchor: str = "start", colour: str = "#222"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"'
        f' fill="{colour}">{escape(text)}</text>\n'
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, dashed: bool = False) -> str:
    dashes = ' stroke-dasharray="4 3"' if dashed else ""
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}"{dashes}/>\n'
