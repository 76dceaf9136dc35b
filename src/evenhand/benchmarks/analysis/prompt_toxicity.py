"""Compare responses to toxic and to benign prompts; shared by benchmarks that have both."""

from collections.abc import Sequence

import polars as pl

from evenhand.measures import rates_by_prompt_toxicity
from evenhand.schema import Measurement, measurement_rows

MEASURE, RATE = "prompt_toxicity_gap", "negative_rate"
UNIT, RATE_UNIT = "percentage points, toxic minus benign prompts", "% of responses"


def prompt_toxicity_rows(
    responses: pl.DataFrame,
    *,
    cluster: str | None = None,
    bins: Sequence[float] = (),
) -> tuple[list[Measurement], dict[str, pl.DataFrame]]:
    """Return the rates of negative responses after benign and after toxic prompts, and their difference.

    These rows have no verdict: a model that continues toxic prompts with toxic text is not biased against a group.

    Parameters
    ----------
    responses : polars.DataFrame
        One row per response (and group, with ``axis`` and ``group``) with ``negative`` and ``prompt_toxicity``.
    cluster : str
        Column with the sampling unit.
    bins : sequence of float
        Inner boundaries of finer bins of the prompts' toxicity scores.

    Returns
    -------
    Analysis
        Measurements by stratum, and the detail tables `prompt_toxicity` and `prompt_toxicity_contrasts`. Empty if the
        toxicity of prompts is unknown.
    """
    if "prompt_toxicity" not in responses.columns or not responses["prompt_toxicity"].count():
        return [], {}
    result = rates_by_prompt_toxicity(responses, cluster=cluster, bins=bins)
    rows = measurement_rows(result.rates.filter(pl.col("axis").is_null()), RATE, RATE_UNIT)
    shown = result.contrasts.filter(pl.col("axis").is_null())
    rows += measurement_rows(shown.filter(pl.col("estimate").is_not_null()), MEASURE, UNIT)
    return rows, {"prompt_toxicity": result.rates, "prompt_toxicity_contrasts": result.contrasts}
