"""Options of an analysis."""

from pydantic import Field, field_validator

from evenhand.study import Options, Seed

STUDY, PUBLISHED, NONE = "study", "published", "none"
"""Named sets of exclusion rules; any other value is a file."""
GROUPS = "groups."


class AnalysisOptions(Options):
    """Options of the analysis of human judgements."""

    question: tuple[str, ...] = ()
    """Names of the questions to analyse. Empty: all."""
    by: str | None = None
    """What to split preferences and ratings by: `groups.axis` for the column `axis` of the items, `person.age` for the
    annotators' own answers to the survey question `age`."""
    baseline: str | None = None
    """Model with which the others are compared. It is the second model in each comparison."""
    rules: str = STUDY
    """Exclusion rules: "study" (the rules in the export), "published" (ACUTE-Eval's: one wrong onboarding item
    excludes all judgements of that annotator), "none", or a YAML file of rules."""
    alpha: float = Field(0.05, gt=0, lt=1)
    """Probability of at least one false verdict if there is no difference."""
    seed: Seed = 0
    """Random seed for resampling and permutations."""

    @field_validator("by")
    @classmethod
    def _names_a_group(cls, by: str | None) -> str | None:
        if by is not None and not by.removeprefix(GROUPS):
            raise ValueError(
                "expected a property of the items, such as groups.axis, or a question about the annotators, such as "
                "person.age; the name after groups. is missing"
            )
        if by is not None and set(by) & set("'\\"):
            raise ValueError(
                f"the name {by} contains a quotation mark or a backslash, which is not supported; rename the property "
                "in the study file, serve the study again and export it again"
            )
        return by

    @property
    def group(self) -> str | None:
        """Return the key of the items' groups in `by`, without the prefix `groups.`."""
        return None if self.by is None else self.by.removeprefix(GROUPS)
