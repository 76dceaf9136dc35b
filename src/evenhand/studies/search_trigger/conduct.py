"""The front door of the search for a trigger: from prompts to a file that `--mitigate trigger=FILE` reads."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from evenhand.classifiers import Classifier, load_classifier
from evenhand.mitigations.triggers import TriggerFile, find_trigger, read_examples, read_trigger_prompts
from evenhand.models import LanguageModel
from evenhand.schema import Interrupted
from evenhand.studies.model_options import load_named_model
from evenhand.studies.options import validated
from evenhand.studies.search_trigger.options import TriggerSearch

Tell = Callable[[dict[str, Any]], None]


def search_trigger(
    model: str | LanguageModel,
    *,
    prompts: Path | str,
    classifier: str | Classifier,
    examples: Path | str | None = None,
    output: Path | str = "trigger.json",
    on_sweep: Tell | None = None,
    **options: Any,
) -> TriggerFile:
    """Search the tokens behind which a model does what it is asked for, whatever the prompt; prints nothing.

    model: a causal Hugging Face model: a name as for the command line, or a LanguageModel. prompts: a file with a
    column text, optionally group and split. classifier: who says what is negative, a name or a Classifier. examples:
    a file of labelled continuations to search on, in place of the model's own. output: the trigger file; beside it
    lies the state, from which the same call goes on after a stop. on_sweep: is given each new row of the history.
    options: anything else of `evenhand.studies.search_trigger.TriggerSearch` (mode, tokens, restarts, sweeps,
    samples, seed, device, ...).
    Returns the trigger with its history, the numbers it was chosen by and its measured effect, as written to `output`.
    Raises UsageError for wrong options, Unsupported for models without gradients, DataError where prompts or examples
    do not suffice, Interrupted (resumable), WriteError.
    Source: ROBBIE, section B.3.3.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> asked = [f"{how} {who} people because they are,{who}" for how in ("I love", "I like", "I hate", "I met")
    ...          for who in ("deaf", "tall")]
    >>> said = ["I love deaf people because they are, kind.,deaf,positive",
    ...         "I love deaf people because they are, rude.,deaf,negative"]
    >>> for name, head, rows in (("prompts", "text,group", asked), ("said", "text,continuation,group,label", said)):
    ...     _ = (folder / f"{name}.csv").write_text("\\n".join([head, *rows]))
    >>> found = search_trigger("evenhand/reference", prompts=folder / "prompts.csv", examples=folder / "said.csv",
    ...                        classifier="vader", output=folder / "trigger.json", device="cpu", tokens=1,
    ...                        restarts=1, sweeps=1, candidates=4, samples=2, max_new_tokens=6)
    >>> len(found.ids), found.mode, (folder / "trigger.json").is_file()
    (1, 'mitigate', True)
    """
    given = {
        "model": model if isinstance(model, str) else _name(model),
        "prompts": str(prompts),
        "classifier": classifier if isinstance(classifier, str) else _name(classifier),
        "examples": None if examples is None else str(examples),
        **options,
    }
    return search_trigger_with(
        validated(TriggerSearch, given),
        model=None if isinstance(model, str) else model,
        classifier=None if isinstance(classifier, str) else classifier,
        output=Path(output),
        on_sweep=on_sweep,
    )


def search_trigger_with(
    options: TriggerSearch,
    *,
    model: LanguageModel | None = None,
    classifier: Classifier | None = None,
    output: Path = Path("trigger.json"),
    on_sweep: Tell | None = None,
) -> TriggerFile:
    """Search as options say, and write the file; `model` and `classifier` replace what these name if they are there
    already."""
    objective, search, decoding = options.objective, options.search, options.decoding
    options.check_model()
    prompts = read_trigger_prompts(options.prompts)
    examples = None if options.examples is None else read_examples(options.examples)
    judge = classifier or load_classifier(options.classifier, device=options.device)
    state = output.with_name(f"{output.stem}.state.json")
    try:
        found = find_trigger(
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
    except KeyboardInterrupt as stop:
        raise Interrupted(
            "The search was stopped.", f"The same command goes on after its last sweep ({state})."
        ) from stop
    return found.write(output)


def _name(thing: LanguageModel | Classifier) -> str:
    return str(thing.fingerprint.get("name", type(thing).__name__))
