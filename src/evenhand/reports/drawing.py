"""Elements of drawings: scales, plot areas with a grid, lines, points, texts, and labels without overlap.

A drawing is inline SVG with horizontal positions in percent and vertical positions in pixels. Text therefore keeps its
size while the drawing adapts to the width of a phone, a screen or a page, which scaled pictures and most chart
libraries cannot do.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from markupsafe import Markup

HUGE = 1e7  # from here on, ticks use powers of ten
MARGIN = 3.0  # percent that stay free at both ends of a row, so that markers and tick labels are not cut
LABEL_HEIGHT = 15  # height of a line of text in pixels
CHARACTER = 1.75  # width of a character in percent of a phone's width
LONGEST_LABEL = 24  # characters


@dataclass(frozen=True)
class Scale:
    """A linear axis from `low` to `high` with round ticks; `scale_over` creates it.

    Examples
    --------
    >>> scale_over([0.02, 0.98]).ticks
    (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    """

    low: float
    high: float
    ticks: tuple[float, ...]

    def part(self, value: float) -> float:
        """Return the position of a value on the axis, from 0 to 1; values beyond an end are moved to it."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    def at(self, value: float) -> float:
        """Return the horizontal position of a value, in percent of the width, inside the drawing."""
        return round(MARGIN + (100 - 2 * MARGIN) * self.part(value), 2)


def scale_over(values: Iterable[float | None], *, include: Sequence[float] = (), ticks: int = 5) -> Scale:
    """Return the smallest scale with round ends that contains all values.

    Parameters
    ----------
    values : iterable of float or None
        The values. None and NaN are ignored.
    include : sequence of float
        Values that must be on the scale, such as the value without bias.
    ticks : int, default 5
        Approximate number of ticks.

    Returns
    -------
    Scale
        The scale; from 0 to 1 if there is no value.

    Examples
    --------
    >>> scale_over([3.0, None], include=[0.0]).high
    3.0
    """
    finite = [v for v in [*values, *include] if v is not None and math.isfinite(v)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    if high - low < 1e-9 * max(1.0, abs(high)):
        low, high = low - 0.5 * max(abs(low), 0.1), high + 0.5 * max(abs(high), 0.1)
    raw = (high - low) / ticks
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(s * power for s in (1, 2, 2.5, 5, 10) if s * power >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return Scale(first * step, last * step, tuple(round(i * step, 12) for i in range(first, last + 1)))


def factor_scale(logs: Iterable[float | None]) -> tuple[Scale, list[str]]:
    """Return a scale of log ratios around 0 with ticks at round factors, and their labels.

    Examples
    --------
    >>> factor_scale([-0.6, 0.5])[1]
    ['×0.67', '×1', '×1.5']
    """
    finite = [v for v in logs if v is not None and math.isfinite(v)]
    low, high = min([-0.05, *finite]), max([0.05, *finite])
    widest = max(-low, high)
    step = next(
        (f for f in (1.1, 1.25, 1.5, 2, 3, 5, 10) if widest / math.log(f) < 2.6), math.exp(widest / 2.5)
    )
    first, last = math.ceil(low / math.log(step)), math.floor(high / math.log(step))
    ticks = tuple(i * math.log(step) for i in range(first, last + 1))
    return Scale(low, high, ticks), [f"×{math.exp(t):.{3 if step < 1.5 else 2}g}" for t in ticks]


def tick_text(value: float, ticks: Sequence[float]) -> str:
    """Return a tick's label with the number of decimals that its neighbours need."""
    if max(map(abs, ticks), default=0.0) >= HUGE:
        return f"{value:.3g}".replace("e+", "e").replace("-", "−")
    step = ticks[1] - ticks[0] if len(ticks) > 1 else max(abs(value), 1.0)
    places = next((p for p in range(7) if abs(round(step, p) - step) < 1e-9 * max(1.0, step)), 6)
    return f"{value:.{places}f}".replace("-", "−") if value else "0"


@dataclass(frozen=True)
class PlotArea:
    """The area of a plot with two scales; converts numbers into positions.

    Attributes
    ----------
    across, up : Scale
        The horizontal and the vertical scale.
    left, right : float
        Ends of the grid, in percent of the width.
    height : int
        Height of the drawing, in pixels.
    top, bottom : int
        Free space above and below the grid, in pixels.
    """

    across: Scale
    up: Scale
    left: float
    right: float
    height: int
    top: int = 14
    bottom: int = 34

    @property
    def floor(self) -> int:
        """Return the lower end of the grid, in pixels from the top."""
        return self.height - self.bottom

    def x(self, value: float) -> float:
        """Return the horizontal position of a value, in percent of the width."""
        return self.left + (self.right - self.left) * self.across.part(value)

    def y(self, value: float) -> float:
        """Return the vertical position of a value, in pixels from the top."""
        return self.floor - (self.floor - self.top) * self.up.part(value)

    def grid(self, unit: str = "", *, null: float | None = None) -> list[Markup]:
        """Return lines and labels at the ticks of both scales; the vertical tick at `null` is drawn as a null line."""
        parts = []
        for tick in self.up.ticks:
            y = self.y(tick)
            parts.append(line("null" if tick == null else "grid", self.left, y, self.right, y))
            words = f"{tick_text(tick, self.up.ticks)} {unit}".rstrip()
            parts.append(text(self.left - 1.5, y + 4, words, anchor="end"))
        for tick in self.across.ticks:
            x = self.x(tick)
            parts += [
                line("grid", x, self.top, x, self.floor),
                self.under(x, tick_text(tick, self.across.ticks)),
            ]
        return parts

    def under(self, x: float, words: str, row: int = 0, *, anchor: str = "middle", kind: str = "") -> Markup:
        """Return a text below the grid, in the first row or a later one."""
        return text(x, self.floor + 18 + 14 * row, words, anchor=anchor, kind=kind)

    def interval_up(self, kind: str, x: float, low: float | None, high: float | None) -> Markup:
        """Return a vertical line at x between two values; empty if one is unknown."""
        return Markup("") if low is None or high is None else line(kind, x, self.y(low), x, self.y(high))

    def interval_across(self, kind: str, y: float, low: float | None, high: float | None) -> Markup:
        """Return a horizontal line at y between two values; empty if one is unknown."""
        return Markup("") if low is None or high is None else line(kind, self.x(low), y, self.x(high), y)

    def label_over(self, words: str, x: float, y: float) -> "Label":
        """Return a label centred above a point, or moved to the side on which it fits."""
        label = Label(cut(words), x, y)
        if self.left <= label.span[0] and label.span[1] <= 100:
            return label
        return replace(label, anchor="start" if x < 50 else "end")

    def label_beside(self, words: str, left: float, right: float, y: float) -> "Label":
        """Return a label to the right of the span from `left` to `right`, or to the left if it fits only there."""
        room = max(100 - right, left - self.left) - 2
        label = Label(cut(words, int(room / CHARACTER)), right + 2, y, "start")
        return label if label.span[1] <= 100 else replace(label, x=left - 2, anchor="end")

    def keep_apart(self, labels: Sequence["Label"]) -> list["Label"]:
        """Return labels next to the grid, moved up or down until they do not overlap; see `spread_apart`."""
        moved = list(labels)
        for mine in _overlapping([label.span for label in labels]):
            places = spread_apart([labels[i].y for i in mine], LABEL_HEIGHT - 4, self.floor + 4)
            for i, place in zip(mine, places, strict=True):
                moved[i] = replace(labels[i], y=place)
        return moved

    def clear_of(self, labels: Sequence["Label"], points: Sequence[tuple[float, float]]) -> list["Label"]:
        """Return labels moved so that they hide no point and no other label, as near as possible to their positions.

        points: (x in percent, y in pixels) of each point. Each label tries positions above, below, left and right of
        its own, at increasing distances. A label without a free position is left out, because it would be unreadable.

        """
        placed: list[Label] = []
        for label in labels:
            found = next((one for one in self._near(label) if self._is_free(one, placed, points)), None)
            placed += [] if found is None else [found]
        return placed

    def _near(self, label: "Label") -> Iterable["Label"]:
        middle = label.x
        for step in range(12):
            for down in (-step, step) if step else (0,):
                y = label.y + 10 * down
                if self.top - 4 <= y - LABEL_HEIGHT + 4 and y <= self.floor - 2:
                    for x, anchor in ((middle, label.anchor), (middle + 2, "start"), (middle - 2, "end")):
                        beside = replace(label, x=x, y=y, anchor=anchor)
                        if self.left <= beside.span[0] and beside.span[1] <= 100:
                            yield beside

    def _is_free(
        self, label: "Label", others: Sequence["Label"], points: Sequence[tuple[float, float]]
    ) -> bool:
        start, end = label.span
        under = any(
            start - 1.5 < x < end + 1.5 and label.y - LABEL_HEIGHT - 1 < y < label.y + 7 for x, y in points
        )
        return not under and not any(
            start < other.span[1] and other.span[0] < end and abs(label.y - other.y) < LABEL_HEIGHT - 2
            for other in others
        )

    def drawn(self, parts: Iterable[Markup], *, described: str) -> Markup:
        """Return all parts as one drawing (SVG). `described` is the text for screen readers."""
        return svg("chart", self.height, parts, described=described)


@dataclass(frozen=True)
class Label:
    """A text in a drawing.

    Attributes
    ----------
    words : str
        The text.
    x : float
        Position of `anchor`, in percent of the width.
    y : float
        Position of the baseline, in pixels.
    anchor : {"start", "middle", "end"}, default "middle"
        The point of the text that is at `x`.
    kind : str, default "name"
        CSS class.
    """

    words: str
    x: float
    y: float
    anchor: str = "middle"
    kind: str = "name"

    @property
    def span(self) -> tuple[float, float]:
        """Return the start and end of the text in percent of the width of a phone."""
        width = CHARACTER * len(self.words)
        start = self.x - {"start": 0.0, "middle": width / 2, "end": width}[self.anchor]
        return start, start + width

    @property
    def svg(self) -> Markup:
        """Return the label as SVG."""
        return text(self.x, self.y, self.words, anchor=self.anchor, kind=self.kind)


def _overlapping(spans: Sequence[tuple[float, float]]) -> list[list[int]]:
    """Return groups of indices of spans that overlap, directly or through others."""
    groups: list[list[int]] = []
    reach = -math.inf
    for i in sorted(range(len(spans)), key=lambda i: spans[i]):
        if spans[i][0] < reach:
            groups[-1].append(i)
        else:
            groups.append([i])
        reach = max(reach, spans[i][1])
    return groups


def spread_apart(wanted: Sequence[float], low: float, high: float, gap: float = LABEL_HEIGHT) -> list[float]:
    """Return positions at least `gap` apart between `low` and `high`, as near as possible to the wanted ones.

    wanted: positions in pixels. The order is kept. If there is no room for the gaps, the distances are equal. The
    result minimises the sum of squared moves. It is computed as a monotone regression (Barlow and others 1972,
    Statistical inference under order restrictions).

    >>> spread_apart([50, 50, 90], 0, 100, gap=20), spread_apart([50, 50, 90], 0, 20, gap=20)
    ([40.0, 60.0, 90.0], [0.0, 10.0, 20.0])
    """
    if not wanted:
        return []
    from scipy.optimize import isotonic_regression

    gap = min(gap, (high - low) / max(1, len(wanted) - 1))
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    moves = isotonic_regression([wanted[i] - gap * rank for rank, i in enumerate(order)]).x
    last = max(low, high - gap * (len(wanted) - 1))
    places = {i: min(max(float(moves[rank]), low), last) + gap * rank for rank, i in enumerate(order)}
    return [min(places[i], high) for i in range(len(wanted))]


def assign_rows(spans: Sequence[tuple[float, float]]) -> list[int]:
    """Return the number of a row for each span, so that spans in one row do not overlap.

    Each span gets the first row in which it overlaps no earlier span.

    Examples
    --------
    >>> assign_rows([(0, 30), (20, 50), (40, 70)])
    [0, 1, 0]
    """
    ends: list[float] = []
    rows = []
    for start, end in spans:
        row = next((i for i, reach in enumerate(ends) if reach <= start), len(ends))
        ends[row : row + 1] = [end]
        rows.append(row)
    return rows


def cut(words: str, characters: int = LONGEST_LABEL) -> str:
    """Shorten a text to a number of characters.

    >>> cut("realtoxicityprompts", 8)
    'realtox…'
    """
    return words if len(words) <= characters else words[: max(1, characters - 1)] + "…"


def tell_apart(names: Sequence[str]) -> list[str]:
    """Return names without the words that all of them begin or end with. At least one word of each name is kept.

    Words end at a slash or a space.

    >>> tell_apart(["my/gpt2 (greedy)", "my/gpt2 + self-debiasing"]), tell_apart(["opt", "gpt2"])
    (['greedy', '+ self-debiasing'], ['opt', 'gpt2'])
    >>> tell_apart(["my/gpt2", "my/gpt2 + instruction=respect"]), tell_apart(["a/run", "b/run"])
    (['gpt2', 'gpt2 + instruction=respect'], ['a', 'b'])
    """
    words = [re.findall(r"(?:\([^()]*\)|[^/\s])+[/\s]*", name) for name in names]
    if len(words) < 2 or not all(words):
        return list(names)
    plain = [[word.rstrip("/ ") for word in mine] for mine in words]
    room = min(map(len, words)) - 1
    first = min(room, _shared(plain))
    last = min(room - first, _shared([mine[::-1] for mine in plain]))
    short = ("".join(mine[first : len(mine) - last]).rstrip("/ ") for mine in words)
    return [name[1:-1] if re.fullmatch(r"\([^()]+\)", name) else name for name in short]


def _shared(sequences: Sequence[Sequence[str]]) -> int:
    """Return the number of items that all sequences share at the beginning."""
    return sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, zip(*sequences, strict=False)))


def svg(kind: str, height: float, parts: Iterable[Markup], *, described: str = "") -> Markup:
    """Return a drawing with the full width of its container; without a description it is hidden from screen readers."""
    spoken = (
        Markup('role="img" aria-label="{}"').format(described) if described else Markup('aria-hidden="true"')
    )
    return Markup('<svg class="{}" height="{}" {}>{}</svg>').format(
        kind, height, spoken, Markup("").join(parts)
    )


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    """Return a straight line as SVG; x is in percent, y in pixels, and `kind` is the CSS class."""
    ends = (round(place, 2) for place in (x1, y1, x2, y2))
    return Markup('<line class="{}" x1="{}%" y1="{}" x2="{}%" y2="{}"/>').format(kind, *ends)


def dot(kind: str, x: float, y: float, radius: float = 4.5) -> Markup:
    """Return a point as SVG."""
    place = round(x, 2), round(y, 2)
    return Markup('<circle class="{}" cx="{}%" cy="{}" r="{}"/>').format(kind, *place, radius)


def box(kind: str, x1: float, x2: float, top: float, bottom: float) -> Markup:
    """Return a filled rectangle as SVG."""
    size = round(x1, 2), round(x2 - x1, 2), round(top, 1), round(bottom - top, 1)
    return Markup('<rect class="{}" x="{}%" width="{}%" y="{}" height="{}"/>').format(kind, *size)


def text(x: float, y: float, words: str, *, anchor: str = "middle", kind: str = "") -> Markup:
    """Return a line of text as SVG. x: horizontal position of its start, middle or end, depending on `anchor`."""
    place = round(x, 2), round(y, 1)
    return Markup('<text class="{}" x="{}%" y="{}" text-anchor="{}">{}</text>').format(
        kind, *place, anchor, words
    )
