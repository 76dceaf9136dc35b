"""The search for a trigger, from a file of prompts to the trigger file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from evenhand.classifiers import Classifier
from evenhand.mitigations.triggers import TriggerFile, find_trigger, read_examples, read_trigger_prompts
from evenhand.models import LanguageModel
from evenhand.runs import resumable
from evenhand.schema import UsageError, is_folder
from evenhand.studies.missing_classifiers import load_only_classifier
from evenhand.studies.model_options import load_named_model
from evenhand.studies.search_trigger.options import TriggerSearch

OnSweep = Callable[[dict[str, Any]], None]
"""Function that is called with each new row of a search's history."""


def conduct_search(
    options: TriggerSearch,
    *,
    model: LanguageModel | None = None,
    classifier: Classifier | None = None,
    output: Path,
    on_sweep: OnSweep | None = None,
) -> TriggerFile:
    """Search with the options, and write the trigger file.

    Raises as `search_trigger`.

    Parameters
    ----------
    model, classifier
        Loaded objects that replace those named in the options.
    output
        The trigger file. The state file next to it is used to resume the search.
    """
    objective, search, decoding = options.objective, options.search, options.decoding
    options.check_model()
    if not output.name or is_folder(output):
        raise UsageError(
            f"`--output` expects a file for the trigger, got {str(output)!r}.",
            "Give the name of a file, such as --output trigger.json",
        )
    prompts = read_trigger_prompts(options.prompts)
    examples = None if options.examples is None else read_examples(options.examples)
    judge = classifier or load_only_classifier(options.classifier, options.device)
    state = output.with_name(f"{output.stem}.state.json")
    go_on = f"The same command resumes after the last sweep ({state})."
    with resumable(go_on, "The search was stopped."):
        trigger = find_trigger(
            model or load_named_model(options),
            prompts,
            judge,
            examples=examples,
            objective=objective,
            options=search,
            decoding=decoding,
            rule=options.rule,
            most_perplexity_ratio=options.guard,
            resume=state,
            on_sweep=on_sweep,
        )
        return trigger.write(output)
