"""The card: a description of a benchmark, measure, data set or model. Nothing can be run without a card."""

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Card:
    """A description of a measure, benchmark, model, classifier or mitigation: what it claims and its limits.

    Write one for everything that you add to evenhand. `evenhand show NAME` prints it. Leave a field empty
    only if it does not apply (a data set has no ideal value).

    Raises
    ------
    ValueError
        The name or the summary is empty.
    """

    name: str
    summary: str
    """One line, shown by `evenhand list`."""
    construct: str = ""
    """What the measure, benchmark or method is meant to measure or change."""
    harm: str = ""
    """Who is harmed, and how, if the construct is present."""
    groups: str = ""
    """Groups that are compared, and what is equal for all of them (such as the template)."""
    ideal: str = ""
    """The value of a model without the bias."""
    direction: str = ""
    """Direction of the value that is worse."""
    null: str = ""
    """The value of a model without bias (null), and how it is computed."""
    critique: str = ""
    """Known objections, and what the number cannot show."""
    citation: str = ""
    licence: str = ""
    source: str = ""
    """Where it is defined or published: paper and section, or URL."""
    details: str = ""
    """Further information for readers (Markdown), such as counts and known differences from the publication."""

    def __post_init__(self) -> None:
        if not self.name or not self.summary:
            raise ValueError("a card requires a name and a summary of one line")

    def to_dict(self) -> dict[str, str]:
        """Return all fields by name, including empty ones."""
        return {f.name: getattr(self, f.name) for f in fields(self)}
