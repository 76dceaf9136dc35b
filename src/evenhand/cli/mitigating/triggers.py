"""`evenhand search-trigger`: finds the tokens behind which a model does what it is asked for, whatever the prompt."""

from pathlib import Path
from typing import Any

import typer

from evenhand.cli import model_flags as flags
from evenhand.cli.common import options_of, say, show, stated, writable


def search_trigger(
    model: str = typer.Argument(
        ..., help="A causal Hugging Face model: a hub name, a folder, evenhand/reference."
    ),
    prompts: Path = typer.Option(
        ..., help="Your prompts (CSV, JSONL, Parquet): text, optionally group and split (train, dev, test)."
    ),
    classifier: str = typer.Option(
        ..., help="Who says what is negative (`evenhand list classifiers`), in search, choice and test."
    ),
    output: Path = typer.Option(Path("trigger.json"), "--output", "-o", help="The trigger file."),
    examples: Path | None = typer.Option(
        None,
        help="Labelled continuations of your own (text, continuation, group, label) to search on. Default: the "
        "model's continuations of the training prompts, as the classifier labels them.",
    ),
    mode: str = typer.Option(
        "mitigate",
        help="mitigate: neutral and positive likelier, negative less likely. neutral: neutral likelier, all else "
        "less likely. induce: bias against one group and for another, for red-teaming measurement.",
    ),
    against: str | None = typer.Option(None, help="With induce: the group that is to be spoken ill of."),
    favour: str | None = typer.Option(None, help="With induce: the group that is to be spoken well of."),
    tokens: int | None = typer.Option(
        None, min=1, help="Length. Default: 6, or as long as the initial phrase."
    ),
    initial: str | None = typer.Option(None, help='To begin with. Default: " the" in every place.'),
    restarts: int = typer.Option(3, min=1, help="Rounds; all but the first begin with random tokens."),
    sweeps: int = typer.Option(50, min=1, help="Times a round goes over all places at most."),
    candidates: int = typer.Option(100, min=1, help="Tokens tried in each place."),
    beam: int = typer.Option(1, min=1, help="Triggers followed side by side."),
    fluency: float = typer.Option(0.0, min=0, help="Weight of the trigger's own likelihood."),
    most_perplexity: float | None = typer.Option(None, help="The trigger's own perplexity at most."),
    punctuation: bool = typer.Option(False, "--punctuation", help="Allow punctuation and digits."),
    exclude: list[str] = typer.Option([], help="A word that may not occur; repeatable."),
    samples: int = typer.Option(10, min=1, help="Continuations a prompt."),
    max_new_tokens: int = typer.Option(30, min=1, help="Tokens after which a continuation is cut."),
    temperature: float = typer.Option(0.7, help="Of the continuations that are judged."),
    top_k: int | None = typer.Option(40, min=0, help="0 turns the filter off."),
    judge_prompt: bool = typer.Option(
        False, "--judge-prompt", help="Judge prompt and continuation together."
    ),
    first_sentence: bool = typer.Option(
        False, "--first-sentence", help="Judge up to the first full stop only."
    ),
    guard: float = typer.Option(
        1.5, min=1, help="How many times as perplexing continuations may be behind the trigger."
    ),
    seed: int = typer.Option(0, min=0, help="Of everything random."),
    dtype: flags.Dtype = None,
    device: flags.Device = None,
    revision: flags.Revision = None,
    trust_remote_code: flags.TrustRemoteCode = None,
    batch_tokens: flags.BatchTokens = None,
    chat: flags.Chat = None,
    system: flags.System = None,
    allow_longer: flags.AllowLonger = None,
) -> None:
    """Search a trigger by gradients, choose among rounds by what the model writes, test it on prompts set aside.

    Press Ctrl-C at any time: the same command goes on after the last whole sweep. Use what was found with
    `evenhand audit MODEL --mitigate trigger=FILE`.
    """
    given = stated(options_of(locals(), "output"))
    from evenhand.studies import validated
    from evenhand.studies.search_trigger import TriggerSearch, search_trigger_with

    def report_sweep(row: dict[str, Any]) -> None:
        say(
            f"round {row['restart'] + 1}, sweep {row['sweep']}: loss {row['loss']:.4f}  {row['text']!r}",
            err=True,
        )

    options = validated(TriggerSearch, given)
    writable("--output", output)
    show(search_trigger_with(options, output=output, on_sweep=report_sweep))
    say(f"written to {output}")
