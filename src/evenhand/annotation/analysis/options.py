"""What an analysis is asked to do."""

from pydantic import Field, field_validator

from evenhand.studies import Options, Seed

STUDY, PUBLISHED, NONE = "study", "published", "none"
"""Rules of exclusion that have a name; anything else is a file."""
GROUPS = "groups."


class AnalysisOptions(Options):
    """How people's answers are analysed."""

    question: tuple[str, ...] = ()
    """Questions that are analysed; (): all."""
    by: str | None = None
    """What preferences and ratings are split by: `groups.axis` for what items say of `axis`, `person.age` for what
    annotators answered to the question `age` about themselves."""
    baseline: str | None = None
    """A model that stands second wherever it takes part: the one that others are held against."""
    rules: str = STUDY
    """Whose answers count: "study" (the rules that the export brings), "published" (as ACUTE-Eval's analysis: one
    onboarding item wrong and all of a person's answers are out), "none", or a YAML file of rules."""
    alpha: float = Field(0.05, gt=0, lt=1)
    """Chance of any false verdict where there is no difference."""
    seed: Seed = 0
    """Of whatever is drawn: resamples and permutations."""

    @field_validator("by")
    @classmethod
    def _names_a_group(cls, by: str | None) -> str | None:
        if by is not None and not by.removeprefix(GROUPS):
            raise ValueError("it names nothing: by=groups.axis")
        if by is not None and set(by) & set("'\\"):
            raise ValueError("it is a key with quotation marks or backslashes, which cannot be split by")
        return by

    @property
    def group(self) -> str | None:
        """The key of an item's groups that `by` names, with or without `groups.` in front."""
        return None if self.by is None else self.by.removeprefix(GROUPS)
