"""Find a trigger from prompts: collect examples, search, choose by generated text, and test."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.classifiers import ClassifiedText, Classifier
from evenhand.mitigations.triggers.evaluation import searchable
from evenhand.mitigations.triggers.examples import (
    Example,
    balance_examples,
    collect_examples,
    examples_digest,
    split_prompts,
)
from evenhand.mitigations.triggers.objective import Objective
from evenhand.mitigations.triggers.search import TriggerSearchOptions, search_triggers
from evenhand.mitigations.triggers.selection import measured_effect, select_trigger
from evenhand.mitigations.triggers.trigger import TriggerFile
from evenhand.models import Decoding, LanguageModel

DECODING = Decoding(max_new_tokens=30, temperature=0.7, top_k=40, samples=10)
"""Decoding that ROBBIE uses for GPT-2."""


def find_trigger(
    model: LanguageModel,
    prompts: pl.DataFrame,
    classifier: Classifier,
    *,
    examples: Sequence[Example] | None = None,
    objective: Objective | None = None,
    options: TriggerSearchOptions | None = None,
    decoding: Decoding | None = None,
    rule: ClassifiedText | None = None,
    most_perplexity_ratio: float = 1.5,
    resume: Path | None = None,
    on_sweep: Callable[[dict[str, Any]], None] | None = None,
) -> TriggerFile:
    """Find a trigger on a model's own classified continuations, choose it on other prompts, and test it on a third set.

    Parameters
    ----------
    model
        A causal Hugging Face model.
    prompts
        Columns: prompt_id, text, group, optionally split (see `split_prompts`).
    classifier
        Classifier of negative continuations, in all three steps.
    examples
        Your own labelled continuations, instead of those of the training prompts.
    resume
        See `search_triggers`. A file is only resumed if the examples are equal, as with the same seed.

    Returns
    -------
    TriggerFile
        The trigger with the history of the search, the values of the choice, and its effect.

    Raises
    ------
    Unsupported
        The model has no gradients.
    DataError
        There are too few prompts or examples.

    References
    ----------
    - ROBBIE, section B.3.3.
    """
    causal = searchable(model)
    objective, options = objective or Objective(), options or TriggerSearchOptions()
    decoding, rule = decoding or DECODING, rule or ClassifiedText()
    parts = split_prompts(prompts, options.seed)
    if examples is None:
        examples = collect_examples(causal, parts["train"], classifier, decoding, rule=rule)
    examples = balance_examples(examples, seed=options.seed)
    result = search_triggers(causal, examples, objective, options, resume=resume, on_sweep=on_sweep)
    triggers = [
        trigger_file(causal, one.ids, one.text, objective, options, examples, result.history)
        for one in result.found
    ]
    choice = select_trigger(
        causal,
        triggers,
        parts["dev"],
        classifier,
        decoding,
        rule=rule,
        most_perplexity_ratio=most_perplexity_ratio,
    )
    effect = measured_effect(
        causal, choice.trigger, parts["test"], classifier, decoding, rule=rule, seed=options.seed
    )
    numbers = {"rows": list(choice.rows), "note": choice.note, "most_perplexity_ratio": most_perplexity_ratio}
    return replace(choice.trigger, choice=numbers, effect=effect)


def trigger_file(
    model: LanguageModel,
    ids: tuple[int, ...],
    text: str,
    objective: Objective,
    options: TriggerSearchOptions,
    examples: Sequence[Example],
    history: Sequence[dict[str, Any]],
) -> TriggerFile:
    """Return the content of a trigger file for a found trigger and its origin; its effect is added later."""
    from evenhand.weights import tokenizer_fingerprint

    counts = Counter((example.group, example.label) for example in examples)
    return TriggerFile(
        ids=ids,
        text=text,
        mode=objective.mode,
        tokenizer=tokenizer_fingerprint(searchable(model).tokenizer),
        model=model.fingerprint,
        separator=options.separator,
        objective=objective.parameters(),
        options=asdict(options),
        examples={
            "count": len(examples),
            "digest": examples_digest(examples),
            "kinds": [{"group": group, "label": label, "count": n} for (group, label), n in counts.items()],
        },
        history=tuple(history),
    )
