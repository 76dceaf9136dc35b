"""Combine generations: of speakers with different stop strings, and with error rows for prompts that were not sent."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from evenhand.models.contract import Generations
from evenhand.models.decoding import Decoding
from evenhand.schema import ResponseError


def written_by_rule(
    rules: Sequence[Decoding], write: Callable[[list[int], Decoding], Generations]
) -> Generations:
    """Generate for n prompts with separate decodings; prompts with equal decodings are batched.

    rules: n decodings with the same number of samples. write: function of the indices of some prompts and a decoding
    that returns their generations.
    """
    parts = [(rule, [i for i, one in enumerate(rules) if one == rule]) for rule in dict.fromkeys(rules)]
    return join_generations([(rows, write(rows, rule)) for rule, rows in parts])


def join_generations(parts: Sequence[tuple[Sequence[int], Generations]]) -> Generations:
    """Combine the generations of parts of a list of prompts, in the order of the prompts.

    `parts` are pairs of the prompts' positions and their generations.
    """
    rows = [
        (prompts[int(part.prompt[k])], int(part.sample[k]), p, k)
        for p, (prompts, part) in enumerate(parts)
        for k in range(len(part))
    ]
    rows.sort()
    made = [(parts[p][1], k) for _, _, p, k in rows]
    tokens = [part.row(k) for part, k in made]
    return Generations(
        prompt=np.array([i for i, *_ in rows], dtype=np.int64),
        sample=np.array([sample for _, sample, *_ in rows], dtype=np.uint16),
        texts=[part.texts[k] for part, k in made],
        offsets=np.cumsum([0, *map(len, tokens)], dtype=np.int64),
        token_ids=np.concatenate([np.zeros(0, np.int32), *tokens]).astype(np.int32),
        finish=[part.finish[k] for part, k in made],
        log_likelihood=np.array([part.log_likelihood[k] for part, k in made], dtype=np.float64),
        errors=[part.errors[k] for part, k in made],
        details=[part.details[k] for part, k in made],
    )


def error_generations(errors: Sequence[tuple[ResponseError, str]], samples: int) -> Generations:
    """Return n rows with errors, for prompts that were not sent, with the reason of each."""
    rows = len(errors) * samples
    return Generations(
        prompt=np.repeat(np.arange(len(errors)), samples),
        sample=np.tile(np.arange(samples, dtype=np.uint16), len(errors)),
        texts=[None] * rows,
        offsets=np.zeros(rows + 1, dtype=np.int64),
        token_ids=np.zeros(0, dtype=np.int32),
        finish=[None] * rows,
        log_likelihood=np.full(rows, np.nan),
        errors=[code for code, _ in errors for _ in range(samples)],
        details=[detail for _, detail in errors for _ in range(samples)],
    )


def trim_texts(generations: Generations) -> Generations:
    """Return the generations without white space around the texts, because formats add their own between turns."""
    return replace(generations, texts=[None if text is None else text.strip() for text in generations.texts])
