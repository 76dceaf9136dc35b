"""`evenhand debias`: trains a bias out of a model, into a folder that every verb takes as a model."""

from pathlib import Path
from typing import Any

import typer

from evenhand.cli import model_flags as flags
from evenhand.cli.common import options_of, progress, show, stated


def debias(
    model: str = typer.Argument(
        ..., help="A causal Hugging Face model: a hub name, a folder, evenhand/reference."
    ),
    method: str = typer.Option(
        ...,
        "--method",
        "-m",
        help="lmd, add, hd, cda, dpo; without training inlp, sentence-debias (`evenhand list methods`). With options: "
        "lmd?weight=10.",
    ),
    output: Path = typer.Option(
        ..., "--output", "-o", help="The model's folder; one that was begun is gone on with."
    ),
    bias: str | None = typer.Option(
        None,
        "--bias",
        "-b",
        help="religion1, religion2, race, gender, orientation (RedditBias), or evenhand/AXIS for our own sentences, "
        "offline: evenhand/religion.",
    ),
    specification: Path | None = typer.Option(
        None, help="Your own terms (TOML), with --data, in place of --bias."
    ),
    data: Path | None = typer.Option(
        None,
        help="Your own texts: .txt, a line each, or a table with a column text. For dpo also pairs: a table with the "
        "columns prompt, chosen, rejected.",
    ),
    source: Path | None = typer.Option(
        None, "--from", help="A checkout of github.com/umanlp/RedditBias, with its training texts."
    ),
    epochs: float | None = typer.Option(None, help="Times that every text is read. Default: 2."),
    batch_size: int | None = typer.Option(None, min=1, help="Texts at once on each device. Default: 8."),
    accumulation: int | None = typer.Option(None, min=1, help="Batches that make one step. Default: 1."),
    learning_rate: float | None = typer.Option(None, help="Default: 5e-5; for our own sentences 2e-4."),
    schedule: str | None = typer.Option(None, help="linear (falls to 0), cosine, constant. Default: linear."),
    warm_up: float | None = typer.Option(None, help="Share of steps over which the rate rises. Default: 0."),
    longest: int | None = typer.Option(None, min=2, help="Tokens of a text; the rest is cut. Default: 36."),
    start: str | None = typer.Option(
        None,
        help="auto: texts stand behind the token evenhand scores behind; none (published). Default: auto.",
    ),
    lora_rank: int | None = typer.Option(
        None, min=1, help="Train adapters of this rank instead of all weights."
    ),
    precision: str | None = typer.Option(None, help="float32 or bfloat16 (activations). Default: float32."),
    gradient_checkpointing: bool | None = typer.Option(
        None, "--gradient-checkpointing", help="Less memory, about a third slower."
    ),
    evaluate_every: int | None = typer.Option(
        None, min=1, help="Steps between evaluations. Default: an epoch."
    ),
    patience: int | None = typer.Option(
        None, min=1, help="Evaluations without a smaller bias after which training stops. Default: never."
    ),
    settings: list[str] = typer.Option(
        [], "--set", help="Any option as name=value, e.g. clip=0.5; repeatable."
    ),
    seed: int | None = typer.Option(None, min=0, help="Of everything random. Default: 42."),
    device: flags.Device = None,
    revision: flags.Revision = None,
    trust_remote_code: flags.TrustRemoteCode = None,
) -> None:
    """Train or project a bias out of a causal model; the folder holds weights, tokenizer, model card and lineage.

    Press Ctrl-C at any time: the same command goes on after the last checkpoint, to the same weights. See what it
    helped and cost with `evenhand before-after MODEL DIR`. Needs pip install 'evenhand[training]'. On several
    devices: accelerate launch -m evenhand debias ....
    """
    given: dict[str, Any] = stated(options_of(locals(), "output", "settings"))
    from evenhand.studies.debias import debias_config, debias_with

    made = debias_with(debias_config(given, settings), output=output, progress=progress())
    show(made, {"model": made.path, "report": made.paths["report"]})
