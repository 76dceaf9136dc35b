"""Options of a calibration."""

from typing import Any, Literal

from pydantic import Field, field_validator

from evenhand.study import Count, Options, Seed

Size = Literal["quick", "full"]
MOST_REPLICATIONS = 100_000
"""With this many, the standard error of a rate of 5% is 0.07 percentage points."""


class CalibrationOptions(Options):
    """Options of `evenhand calibrate`. All of them except `jobs` affect the result."""

    measures: tuple[str, ...] = ()
    """Names of measures or benchmarks. Empty: all that can be simulated."""
    size: Size = "quick"
    """"quick": some designs, in a minute or two. "full": every design."""
    replications: int | None = Field(default=None, ge=2, le=MOST_REPLICATIONS)
    """Number of data sets for each planted effect. None: as each design specifies."""
    seed: Seed = 0
    jobs: Count | None = None
    """Number of processes. None: one per core."""

    @field_validator("measures")
    @classmethod
    def _each_once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(value))

    def deciding(self) -> dict[str, Any]:
        """Return the options that affect the result, as plain data."""
        return self.model_dump(mode="json", exclude={"jobs"})
