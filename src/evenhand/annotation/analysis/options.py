"""What an analysis is asked to do."""

from pydantic import BaseModel, ConfigDict, Field


class AnalysisOptions(BaseModel):
    """How people's answers are analysed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    alpha: float = Field(0.05, gt=0, lt=1)
    seed: int = Field(0, ge=0)
