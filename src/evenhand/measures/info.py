"""What every measure states about itself: its name, its card and the unit of its number."""

from dataclasses import dataclass

from evenhand.schema import Card


@dataclass(frozen=True)
class MeasureInfo:
    """One entry of `evenhand list measures`.

    `ideal` is the value of a model without the bias; None where no single value can be named (the
    null then depends on the sample, or the measure is descriptive).
    """

    name: str
    card: Card
    unit: str
    ideal: float | None = None

    def __post_init__(self) -> None:
        if self.name != self.card.name:
            raise ValueError(f"measure {self.name!r} carries the card of {self.card.name!r}")
