"""The card: what a benchmark, measure, data set or model states about itself. No card, no run."""

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Card:
    """What a number claims and what it cannot say. Empty strings are allowed only where a field
    does not apply (a data set has no ideal value)."""

    name: str
    summary: str
    """One line, shown by `evenhand list`."""
    construct: str = ""
    """What is meant to be measured."""
    harm: str = ""
    """Who is hurt, and how, if the construct is present."""
    groups: str = ""
    """Which groups are compared, and what is held fixed."""
    ideal: str = ""
    """The value of a model without the bias."""
    direction: str = ""
    """Which way is worse."""
    null: str = ""
    """What an unbiased model gives, and how that is computed."""
    critique: str = ""
    """Known objections and what the number cannot say."""
    citation: str = ""
    licence: str = ""
    source: str = ""
    """Where it is defined or published: paper and section, or address."""
    details: str = ""
    """Anything else a reader needs (Markdown): planted values, counts, quirks kept."""

    def __post_init__(self) -> None:
        if not self.name or not self.summary:
            raise ValueError("a card requires a name and a summary of one line")

    def to_dict(self) -> dict[str, str]:
        """All fields by name, empty ones included."""
        return {f.name: getattr(self, f.name) for f in fields(self)}
