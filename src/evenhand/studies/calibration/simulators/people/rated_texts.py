"""Simulate yes/no ratings of texts of two models, with effects of annotators, texts and prompts, paired or not."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.studies.calibration.simulators.crossed import intercept


@dataclass(frozen=True)
class RatedTexts:
    """A simulated study of two models in which annotators answer a yes/no question about each text.

    SDs are on the logit scale: of annotators, of an annotator's effect on one model, of texts, of prompts, and of a
    prompt's effect on one model (turn_sd).

    Attributes
    ----------
    persons, each
        Number of annotators, and of ratings per annotator.
    per_item
        Maximum number of ratings per text.
    shares
        True share of yes, for "base" and "tuned".
    prompts
        Number of prompts (0: one for each text of a model).
    both
        True if each annotator rates texts of both models; False if only of one.
    """

    persons: int
    each: int = 6
    per_item: int = 2
    shares: tuple[float, float] = (0.3, 0.3)
    person_sd: float = 0.0
    taste_sd: float = 0.0
    item_sd: float = 0.0
    prompt_sd: float = 0.0
    prompts: int = 0
    turn_sd: float = 0.0
    both: bool = True

    def frame(self, rng: np.random.Generator, question: str = "toxic") -> pl.DataFrame:
        """Return simulated ratings in the columns of exports."""
        n = self.persons * self.each
        person = np.repeat(np.arange(self.persons), self.each)
        if self.both:
            texts = 2 * int(np.ceil(n / self.per_item / 2))
            text = np.concatenate([rng.permutation(texts) for _ in range(self.per_item)])[:n]
        else:
            half = int(np.ceil(n / self.per_item / 2))
            prompts = np.concatenate([rng.permutation(half) for _ in range(2 * self.per_item)])[:n]
            texts, text = 2 * half, 2 * prompts + person % 2
        model, number = text % 2, self.prompts or texts // 2
        prompt = text // 2 % number
        deviations = (self.person_sd, self.taste_sd, self.item_sd, self.prompt_sd, self.turn_sd)
        spread = float(np.linalg.norm(deviations))
        logit = (
            intercept(np.array(self.shares), spread)[model]
            + rng.normal(0, self.person_sd, self.persons)[person]
            + rng.normal(0, self.taste_sd, (self.persons, 2))[person, model]
            + rng.normal(0, self.item_sd, texts)[text]
            + rng.normal(0, self.prompt_sd, number)[prompt]
            + (rng.normal(0, self.turn_sd, (number, 2))[prompt, model] if self.turn_sd else 0.0)
        )
        yes = rng.random(n) < 1 / (1 + np.exp(-logit))
        return pl.DataFrame(
            {
                "person": [f"p{each}" for each in person],
                "item": [f"t{each}" for each in text],
                "context": [f"prompt {each}" for each in prompt],
                "model": np.where(model == 0, "base", "tuned").tolist(),
                "answer": np.where(yes, "yes", "no").tolist(),
                "value": yes.astype(np.float64),
            }
        ).with_columns(
            role=pl.lit("real"),
            question=pl.lit(question),
            measurement=pl.lit("nominal"),
            excluded=pl.lit(None, pl.String),
        )
