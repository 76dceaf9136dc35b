"""Draws docs/images/bias_scores.svg: what the two BiasScores say of models whose harm is planted and known.

python docs/draw_bias_scores.py
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from evenhand.measures import bias_score_curves

PICTURE = Path(__file__).parent / "images" / "bias_scores.svg"
WIDTH, HEIGHT, LEFT, TOP, GAP = 300, 220, 62, 46, 120
INK, PUBLISHED, CORRECTED = "#333", "#b2182b", "#2166ac"
SHADES = {100: "#92c5de", 300: "#4393c3", 1000: "#053061"}
SHIFTS = (0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0, 30.0)

Points = Sequence[tuple[float, float]]


def main() -> None:
    """Simulate, draw, write."""
    scores = bias_score_curves(harmed=[0, 1, 2, 3, 5, 8, 12, 18, 25], audits=200)
    power = bias_score_curves(harmed=[5], shifts=SHIFTS[1:], sizes=tuple(SHADES), audits=200)
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(picture(scores, power), encoding="utf-8")
    print(scores, power, sep="\n")


def picture(scores: pl.DataFrame, power: pl.DataFrame) -> str:
    """The two panels as one SVG."""
    left = [
        curve(scores.select("truth", "published").rows(), 50, 100, PUBLISHED, "published", label_at=0),
        curve(scores.select("truth", "corrected").rows(), 50, 100, CORRECTED, "counted (equal to the truth)"),
    ]
    right = [
        curve(
            [(0.0, 0.0), *power.filter(pl.col("n") == n).select("shift", "named").rows()],
            30,
            100,
            shade,
            f"{n:,} answers a group",
            legend=place,
        )
        for place, (n, shade) in enumerate(SHADES.items())
    ]
    panels = [
        panel("Score, when so many groups are harmed", left, 50, "groups harmed, %", "score, %"),
        panel(
            "Harmed groups that are named",
            right,
            30,
            "harm, points above the others",
            "named, %",
        ),
    ]
    step = LEFT + WIDTH + GAP
    width, height = 2 * step - GAP + 24, TOP + HEIGHT + 48
    drawn = "".join(
        f'<g transform="translate({LEFT + k * step},{TOP})">{part}</g>' for k, part in enumerate(panels)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="12"><title>BiasScore, published and corrected</title>'
        f'<rect width="100%" height="100%" fill="#fff"/>{drawn}</svg>\n'
    )


def panel(title: str, curves: Sequence[str], x_most: float, x_label: str, y_label: str) -> str:
    """One set of axes with its curves."""
    ticks = "".join(
        f'<line x1="0" x2="{WIDTH}" y1="{y}" y2="{y}" stroke="#e5e5e5"/>'
        f'<text x="-8" y="{y + 4}" text-anchor="end" fill="{INK}">{value}</text>'
        for value in (0, 25, 50, 75, 100)
        for y in [round(HEIGHT * (1 - value / 100), 1)]
    )
    below = "".join(
        f'<text x="{WIDTH * k / 5:.0f}" y="{HEIGHT + 16}" text-anchor="middle" fill="{INK}">{x_most * k / 5:g}</text>'
        for k in range(6)
    )
    return (
        f'<text x="0" y="-22" font-weight="600" fill="{INK}">{title}</text>'
        f'<text x="-8" y="-6" text-anchor="end" fill="{INK}">{y_label}</text>{ticks}{below}'
        f'<text x="{WIDTH}" y="{HEIGHT + 36}" text-anchor="end" fill="{INK}">{x_label}</text>{"".join(curves)}'
    )


def curve(
    points: Points,
    x_most: float,
    y_most: float,
    colour: str,
    label: str,
    *,
    label_at: int | None = None,
    legend: int | None = None,
) -> str:
    """A line with its name beside its end, beside the point `label_at`, or in a list at the lower right."""
    placed = [(WIDTH * x / x_most, HEIGHT * (1 - y / y_most)) for x, y in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
    line = f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.5"/>'
    if legend is not None:
        y = HEIGHT - 14 - 18 * legend
        return (
            f'{line}<line x1="{WIDTH - 162}" x2="{WIDTH - 140}" y1="{y - 4}" y2="{y - 4}" stroke="{colour}" '
            f'stroke-width="2.5"/><text x="{WIDTH - 134}" y="{y}" fill="{INK}">{label}</text>'
        )
    if label_at is None:
        x, y = placed[-1]
        return (
            f'{line}<text x="{x - 4:.1f}" y="{y + 84:.1f}" text-anchor="end" fill="{colour}">{label}</text>'
        )
    x, y = placed[label_at]
    return f'{line}<text x="{x + 12:.1f}" y="{y + 12:.1f}" fill="{colour}">{label}</text>'


if __name__ == "__main__":
    main()
