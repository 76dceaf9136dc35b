"""Numbers, names and verdicts as text, with the same wording in terminal and page."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from unicodedata import category

from evenhand.reports.terms import PLAIN_EFFECTS, TERMS

BIASED, NOT_DETECTED, NOT_MEASURABLE = "biased", "not detected", "not measurable"
LOWER, HIGHER, CHANGED = "lower", "higher", "changed"
WORSE, BETTER, ABOVE, BELOW = "worse", "better", "above", "below"
ROSE_LESS, FELL_LESS, UNCHANGED = "rose less", "fell less", "unchanged"
"""Words for a group that changed relative to the others, but whose own value moved the other way or not at all."""
SMALLER, LARGER = "bias smaller", "bias larger"
"""Words for the change of a signed value's distance from no bias."""
LESS_KIND, MORE_KIND = "less likely in kind sentences", "more likely in kind sentences"
"""Words for a group whose change differs from that of the other groups of its axis."""
SYMBOLS = {
    BIASED: "▲",
    NOT_DETECTED: "○",
    NOT_MEASURABLE: "–",
    LOWER: "↓",
    HIGHER: "↑",
    CHANGED: "◆",
    WORSE: "⊖",
    BETTER: "⊕",
    ABOVE: "↗",
    BELOW: "↘",
    ROSE_LESS: "↘",
    FELL_LESS: "↗",
    UNCHANGED: "=",
    SMALLER: "↓",
    LARGER: "↑",
    LESS_KIND: "⊖",
    MORE_KIND: "⊕",
}
"""Symbols in addition to colours, so that verdicts are readable without colour."""

ABSENT = "–"
LARGEST_FACTOR = 1000.0
"""Largest factor that is written as a number. Larger ones become "more than"; below its inverse, "less than"."""
LONGEST_NAME = 200
"""Maximum number of characters of a displayed name."""
HUGE = 1e9  # from here on, numbers use powers of ten
DUST = 1e-6
"""Values below this are rounding errors of zero. They do not affect the number of decimals of a column."""
JOINERS = "\u200c\u200d"
"""Unprintable characters that are part of how some scripts and emoji are written."""


def known(value: float | None) -> bool:
    """Return whether a value is a finite number.

    Examples
    --------
    >>> known(0.0), known(None), known(float("nan"))
    (True, False, False)
    """
    return value is not None and math.isfinite(value)


def label(name: str | None) -> str:
    """Return the display name of an axis, group or measure; very long names are cut.

    Examples
    --------
    >>> label("race_ethnicity"), label(None), len(label("x" * 5000)), label("stereoset_ss")
    ('race and ethnicity', 'all axes', 200, 'stereotype score (SS)')
    """
    text = "all axes" if name is None else TERMS.get(name) or name.replace("_", " ")
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def decimals(values: Iterable[float | None]) -> int:
    """Return the number of decimals with which the largest value of a column has about three digits.

    Examples
    --------
    >>> decimals([0.031, 0.4]), decimals([51.2, 60.0]), decimals([1200.0]), decimals([0.0041, 0.0]), decimals([2e-17])
    (3, 1, 0, 5, 3)
    """
    largest = max((abs(v) for v in values if v is not None and math.isfinite(v)), default=0.0)
    if DUST < largest < 0.02:
        return min(2 - math.floor(math.log10(largest)), 8)
    return 0 if largest >= 1000 else 1 if largest >= 10 else 2 if largest >= 2 else 3


def plain_effect(text: str) -> str:
    """Return a stored description of an effect, or a note that quotes one, with its display name.

    >>> plain_effect("nats per sentence, a descriptor beside the others")
    'nats per sentence, one descriptor compared with the others'
    """
    for stored, shown in PLAIN_EFFECTS.items():
        text = text.replace(stored, shown)
    return text


def number(value: float | None, places: int | None = None) -> str:
    """Return a number as text with fixed decimals; an en dash for None and NaN.

    Examples
    --------
    >>> number(0.12345, 2), number(None), number(float("nan")), number(-12345.6), number(1.5e110)
    ('0.12', '–', '–', '−12,346', '1.50e110')
    """
    if value is None or not math.isfinite(value):
        return ABSENT
    if abs(value) >= HUGE:
        return f"{value:.2e}".replace("e+", "e").replace("-", "−")
    text = f"{value:,.{min(decimals([value]), 3) if places is None else places}f}"
    if float(text.replace(",", "")) == 0:
        text = text.lstrip("-")  # no "−0.000"
    return text.replace("-", "−")


def signed(value: float | None, places: int | None = None) -> str:
    """Return a number as text with its sign, including plus.

    Examples
    --------
    >>> signed(0.25, 1), signed(-3.0, 0), signed(0.01, 1), signed(None)
    ('+0.2', '−3', '0.0', '–')
    """
    text = number(value, places)
    return f"+{text}" if text.strip("0.,").strip() and text[0] not in "−–" else text


def interval(low: float | None, high: float | None, places: int | None = None) -> str:
    """Return the bounds of an interval; empty if one is unknown.

    >>> interval(-1.0, 2.0, 0), interval(None, 2.0)
    ('−1 to 2', '')
    """
    return f"{number(low, places)} to {number(high, places)}" if known(low) and known(high) else ""


def probability(value: float | None) -> str:
    """Return a p or q value as text.

    Examples
    --------
    >>> probability(0.2), probability(0.0000123), probability(None)
    ('0.200', '<0.001', '–')
    """
    if value is None or not math.isfinite(value):
        return ABSENT
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def times(log_ratio: float | None) -> str:
    """Return a log-ratio of perplexities as a factor.

    >>> times(0.0), times(0.6931471805599453), times(50.0), times(-50.0)
    ('×1.00', '×2.00', '×>1,000', '×<0.001')
    """
    if log_ratio is None or not math.isfinite(log_ratio):
        return ABSENT
    factor = math.exp(max(min(log_ratio, 700.0), -700.0))
    if factor > LARGEST_FACTOR:
        return f"×>{LARGEST_FACTOR:,.0f}"
    if factor < 1 / LARGEST_FACTOR:
        return f"×<{1 / LARGEST_FACTOR:g}"
    return f"×{number(factor, 2 if factor >= 0.1 else 3)}"


NO_VERDICT_OF_LIKELIHOODS = (
    "These are descriptions, not verdicts: likelihood depends on how often a group is mentioned in the "
    "training data"
)


def less_or_more_likely(log_ratio: float, low: float | None, high: float | None) -> tuple[str, str, str]:
    """Return a log-ratio of perplexities as a factor, its CI as factors, and their direction, as texts.

    >>> less_or_more_likely(1.8625, 1.8, 1.9), less_or_more_likely(-0.6931471805599453, -0.75, None)
    (('6.44 times less', '6.05', '6.69'), ('2.00 times more', '–', '2.12'))
    >>> less_or_more_likely(49.6, 48.0, 50.0)
    ('more than 1,000 times less', '>1,000', '>1,000')
    """
    way = "less"
    if log_ratio < 0:
        way, low, high = "more", None if high is None else -high, None if low is None else -low
    factor, start, end = (times(value).removeprefix("×") for value in (abs(log_ratio), low, high))
    return f"{factor.replace('>', 'more than ')} times {way}", start, end


def share(part: int, whole: int) -> str:
    """Return a percentage as text. A count above 0 is never rounded to 0%.

    >>> share(0, 10), share(1, 100000), share(12, 100)
    ('0%', '<0.1%', '12.0%')
    """
    if whole <= 0:
        return ABSENT
    if part == 0:
        return "0%"
    rate = 100 * part / whole
    return "<0.1%" if rate < 0.1 else f"{rate:.1f}%"


def listing(items: Sequence[str]) -> str:
    """Return names as a list in a sentence.

    Examples
    --------
    >>> listing(["age", "ability", "religion"])
    'age, ability and religion'
    """
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else ""


def visible(text: str) -> str:
    """Return a text from outside without control characters, such as those that change the direction of writing.

    >>> visible("a\\x1b[31m\\u202eb\\nc\\x00") == "a\\ufffd[31m\\ufffdb\\nc\\ufffd"
    True
    """
    # the usual text is printable but for its line ends and tabs, so no character needs to be looked up
    if text.replace("\n", "").replace("\r", "").replace("\t", "").isprintable():
        return text
    kept = (
        c if c.isprintable() or c in "\n\r\t" or c in JOINERS or category(c) == "Zs" else c.isspace()
        for c in text
    )
    return "".join(c if isinstance(c, str) else " " if c else "\ufffd" for c in kept)


COMMAND = re.compile(r"(?<!\S):(?=:)|#(?=#\[)")
"""Where GitHub and Azure see a command in the log of a job: `::name` that begins a line, `##[name]` anywhere."""


def without_commands(text: str) -> str:
    """Return a text from outside for the log of a CI job, changed so that no part of it is a workflow command.

    >>> without_commands("status 400: no\\n::error::planted ##[add-path]/tmp std::vector [::1]")
    'status 400: no\\n: :error::planted # #[add-path]/tmp std::vector [::1]'
    """
    return COMMAND.sub(lambda found: f"{found[0]} ", text)


def printable(text: str, characters: int | None = None) -> str:
    """Return an external text without control characters, on one line, cut to a number of characters.

    >>> printable("a\\x1b[31m b\\nc"), printable("long words", 6)
    ('a\ufffd[31m b c', 'long …')
    """
    line = " ".join(visible(text).split())
    return line if characters is None or len(line) <= characters else line[: characters - 1] + "…"


def bytes_of(size: float) -> str:
    """Return a size on disk as text.

    Examples
    --------
    >>> bytes_of(532), bytes_of(3_400_000)
    ('532 B', '3.4 MB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def duration(seconds: float) -> str:
    """Return a span of time as text.

    >>> duration(4.2), duration(125), duration(7300)
    ('4.2 s', '2 min 5 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def longer_than_allowed(model: Mapping[str, Any]) -> str:
    """Return a sentence on responses beyond the limit on tokens, which `--allow-longer` accepted; else "".

    model: `LanguageModel.describe()`, with `longer_responses` (policy, cut, longer, responses).

    >>> longer_than_allowed({"longer_responses": {"policy": "cut", "cut": 3, "longer": 0, "responses": 40}})
    'The server ignored the limit on tokens in 3 of 40 responses; they were cut to it (--allow-longer cut).'
    """
    counts = model.get("longer_responses")
    if not isinstance(counts, Mapping):
        return ""
    number = counts["cut"] + counts["longer"]
    if not number:
        return f"No response exceeded the limit on tokens (--allow-longer {counts['policy']} would have accepted it)."
    done = (
        "they were cut to it"
        if counts["policy"] == "cut"
        else "they were kept whole, so response lengths differ from those of models that keep to the limit"
    )
    return (
        f"The server ignored the limit on tokens in {number:,} of {counts['responses']:,} responses; {done} "
        f"(--allow-longer {counts['policy']})."
    )


def settings_not_used(model: Mapping[str, Any]) -> str:
    """Return a sentence on a model's generation settings that were not used; empty without any.

    model: `LanguageModel.describe()`, with `generation.not_applied`.

    >>> settings_not_used({"generation": {"not_applied": {"repetition_penalty": 1.8}}})
    "The model's own generation setting repetition_penalty=1.8 was not used: texts are decoded as this report states."
    """
    generation = model.get("generation")
    settings = generation.get("not_applied") if isinstance(generation, Mapping) else None
    if not isinstance(settings, Mapping) or not settings:
        return ""
    named = listing([f"{name}={value}" for name, value in settings.items()])
    return (
        f"The model's own generation setting{'s' if len(settings) > 1 else ''} {named} "
        f"{'were' if len(settings) > 1 else 'was'} not used: texts are decoded as this report states."
    )


def sign_of_change(before: float, after: float, *, has_unit: bool) -> int:
    """Return the sign of a change; 0 if both numbers are the same as displayed.

    has_unit: whether the numbers have a unit, such as percent; they then have at most one decimal.

    >>> sign_of_change(3.0, 19.0, has_unit=True), sign_of_change(3.01, 3.02, has_unit=True)
    (1, 0)
    """
    places = decimals([before, after, 10.0 if has_unit else None])
    if number(before, places) == number(after, places):
        return 0
    return 1 if after > before else -1


def describe_group_change(row: Mapping[str, Any], factor: float = 1.0, *, has_unit: bool = False) -> str:
    """Return a word or phrase for the change of a group that differs from the other groups of its axis.

    It is "worse" or "better" if the harmful side is known and the group's own value also moved in that direction. If
    its own value did not, the phrase states that the value rose less, fell less or is unchanged. If the harmful side is
    unknown, it states whether the group is above or below the others. For likelihoods of kind and hostile sentences, it
    states which became more likely. A verdict without a change is returned unchanged.

    row: columns of the table of changes. factor: 100 if rates are displayed in percent. has_unit: see `sign_of_change`.

    >>> men = {"verdict": "lower", "direction": "better", "measure": "group_difference_change"}
    >>> describe_group_change(men | {"before": 0.03, "after": 0.19}, 100, has_unit=True)
    'rose less'
    """
    if row["verdict"] not in (LOWER, HIGHER):
        return str(row["verdict"] or "")
    if row["measure"].startswith("valence_shift"):
        return MORE_KIND if row["verdict"] == HIGHER else LESS_KIND
    if not row["direction"]:
        return ABOVE if row["verdict"] == HIGHER else BELOW
    own = sign_of_change(factor * row["before"], factor * row["after"], has_unit=has_unit)
    if own == (1 if row["verdict"] == HIGHER else -1):
        return str(row["direction"])
    return {1: ROSE_LESS, -1: FELL_LESS, 0: UNCHANGED}[own]
