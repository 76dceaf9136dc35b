"""`evenhand search-trigger`: find tokens that change a model's continuations of any prompt in a given way."""

from pathlib import Path
from typing import Any

import typer

from evenhand.cli import model_flags as flags
from evenhand.cli.common import options_of, require_positive, say, show, stated, writable


def search_trigger(
    model: str = typer.Argument(
        ..., help="Causal Hugging Face model: a name, a local folder, or evenhand/reference."
    ),
    prompts: Path = typer.Option(
        ...,
        help="Your prompts (CSV, JSON Lines or Parquet), with the column text and optionally group and split "
        "(train, dev, test).",
    ),
    classifier: str = typer.Option(
        ...,
        help="Classifier that labels negative responses in the search, the choice and the test (`evenhand "
        "list classifiers`).",
    ),
    output: Path = typer.Option(Path("trigger.json"), "--output", "-o", help="File for the trigger."),
    examples: Path | None = typer.Option(
        None,
        help="Your own labelled responses (text, continuation, group, label) for the search. Default: the model's "
        "responses to the training prompts, labelled by the classifier.",
    ),
    mode: str = typer.Option(
        "mitigate",
        help="Objective. mitigate: make neutral and positive responses more likely and negative ones less likely. "
        "neutral: make neutral responses more likely and all others less likely. induce: cause bias against "
        "one group and for another (for red-teaming measurements).",
    ),
    against: str | None = typer.Option(
        None, help="With induce: group that the responses should describe negatively."
    ),
    favour: str | None = typer.Option(
        None, help="With induce: group that the responses should describe positively."
    ),
    tokens: int | None = typer.Option(
        None, min=1, help="Length of the trigger. Default: 6, or the length of the initial phrase."
    ),
    initial: str | None = typer.Option(None, help='Initial trigger. Default: " the" in every position.'),
    restarts: int = typer.Option(
        3, min=1, help="Number of restarts. All but the first start from random tokens."
    ),
    sweeps: int = typer.Option(50, min=1, help="Maximum number of passes over all positions per restart."),
    candidates: int = typer.Option(100, min=1, help="Number of candidate tokens per position."),
    beam: int = typer.Option(1, min=1, help="Beam width: number of triggers kept in parallel."),
    fluency: float = typer.Option(
        0.0, min=0, help="Weight of the trigger's own likelihood in the objective."
    ),
    most_perplexity: float | None = typer.Option(
        None, min=1, help="Maximum perplexity of the trigger itself."
    ),
    punctuation: bool = typer.Option(False, "--punctuation", help="Allow punctuation and digits."),
    exclude: list[str] = typer.Option([], help="Word that the trigger must not contain. Repeatable."),
    samples: int = typer.Option(10, min=1, help="Number of responses per prompt."),
    max_new_tokens: int = typer.Option(30, min=1, help="Maximum length of a response, in tokens."),
    temperature: float = typer.Option(
        0.7, callback=require_positive, help="Sampling temperature of the classified responses, above 0."
    ),
    top_k: int | None = typer.Option(
        40, min=0, help="Sample from the N most probable tokens; 0 turns this filter off."
    ),
    judge_prompt: bool = typer.Option(
        False, "--judge-prompt", help="Classify the prompt and the response together."
    ),
    first_sentence: bool = typer.Option(
        False, "--first-sentence", help="Classify only the text up to the first full stop."
    ),
    guard: float = typer.Option(
        1.5,
        min=1,
        help="Largest allowed ratio of the responses' perplexity with the trigger to the perplexity "
        "without it.",
    ),
    seed: int = typer.Option(0, min=0, help="Random seed."),
    dtype: flags.Dtype = None,
    device: flags.Device = None,
    revision: flags.Revision = None,
    trust_remote_code: flags.TrustRemoteCode = None,
    batch_tokens: flags.BatchTokens = None,
    chat: flags.Chat = None,
    system: flags.System = None,
    allow_longer: flags.AllowLonger = None,
) -> None:
    """Search for a trigger (tokens before each prompt) by gradients, and test it.

    The best trigger of all restarts is chosen by the responses of the model, and tested on held-out prompts.
    Press Ctrl-C to stop; the same command resumes after the last complete sweep.

    \b
    Examples:
      evenhand search-trigger gpt2 --prompts mine.csv --classifier vader -o trigger.json
      evenhand audit gpt2 --mitigate trigger=trigger.json
    """
    given = stated(options_of(locals(), "output"))
    from evenhand.studies.search_trigger import TriggerSearch, search_trigger_with
    from evenhand.study import validated

    def report_sweep(row: dict[str, Any]) -> None:
        say(
            f"round {row['restart'] + 1}, sweep {row['sweep']}: loss {row['loss']:.4f}  {row['text']!r}",
            err=True,
        )

    options = validated(TriggerSearch, given)
    writable("--output", output)
    show(search_trigger_with(options, output=output, on_sweep=report_sweep))
    say(f"Written to {output}")
