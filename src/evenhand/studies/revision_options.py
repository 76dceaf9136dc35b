"""What a search for an instruction is asked to do."""

from pydantic import BaseModel, ConfigDict, Field

from evenhand.mitigations.instructions import INSTRUCTIONS
from evenhand.mitigations.revisers import RULES
from evenhand.mitigations.revision import SearchOptions
from evenhand.studies.config import AuditConfig


class RevisionConfig(BaseModel):
    """Options of a search. Unknown names are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    audit: AuditConfig
    """Model, one benchmark, decoding, classifier, seed: as for an audit."""
    reviser: str = RULES
    """Who rewords: "rules", or a language model by name."""
    instructions: tuple[str, ...] = ()
    """To begin with; none named means the library's own."""
    iterations: int = Field(default=10, ge=1)
    keep: int = Field(default=5, ge=1)
    variants: int = Field(default=4, ge=1)
    most_words: int = Field(default=60, ge=1)
    most_unanswered: float = Field(default=0.05, ge=0, le=1)
    subset: int | None = Field(default=None, ge=1)
    """Prompts of a round; None takes 300, or all that are not kept for the final choice."""
    final: int | None = Field(default=None, ge=1)
    """Prompts kept for the final choice; None takes 1,000, or half."""
    group_weight: float = Field(default=0.0, ge=0)
    """Added to the rate for the share of groups shown to be above the others."""
    role: str | None = None
    """Whose judgement counts, where a benchmark has several judges."""
    delimiter: str = "\n"
    """Between instruction and prompt."""

    @property
    def search(self) -> SearchOptions:
        """The part that the search itself reads."""
        return SearchOptions(self.iterations, self.keep, self.variants, self.most_unanswered)

    @property
    def seeds(self) -> tuple[str, ...]:
        """The instructions to begin with."""
        return self.instructions or tuple(one.text for one in INSTRUCTIONS.values())
