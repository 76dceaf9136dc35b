"""`evenhand debias`: trains a bias out of a model, into a folder that every verb takes as a model."""

from pathlib import Path
from typing import Any

import typer

from evenhand.cli import model_flags as flags
from evenhand.cli.common import options_of, progress, require_positive, require_share, show, stated


def debias(
    model: str = typer.Argument(
        ...,
        help="Causal Hugging Face model, or an encoder-decoder for dialogue methods: a name, a local folder, or "
        "evenhand/reference.",
    ),
    method: str = typer.Option(
        ...,
        "--method",
        "-m",
        help="Debiasing method: lmd, add, hd, cda, dpo; for dialogues self-chat, name-scrambling, "
        "unlikelihood-token, unlikelihood-sequence, control-gender, control-tokens, style-equality; without "
        "training inlp, sentence-debias (`evenhand list methods`). With options: lmd?weight=10.",
    ),
    output: Path = typer.Option(
        ...,
        "--output",
        "-o",
        help="Folder for the model. If it contains an unfinished training, that training is resumed.",
    ),
    bias: str | None = typer.Option(
        None,
        "--bias",
        "-b",
        help="Bias to remove: religion1, religion2, race, gender, orientation (RedditBias), or evenhand/AXIS for "
        "the sentences of evenhand itself, which need no network, such as evenhand/religion.",
    ),
    specification: Path | None = typer.Option(
        None, help="TOML file of your own terms, for use with --data instead of --bias."
    ),
    data: Path | None = typer.Option(
        None,
        help="Your own texts: .txt with one text per line, or a table with a column text. For dpo also pairs: a "
        "table with the columns prompt, chosen, rejected. For dialogue methods: a run of self-chats "
        "(style-equality: of holisticbias-styles), or a table: see docs/how-to/debias_a_dialogue_model.md.",
    ),
    source: Path | None = typer.Option(
        None,
        "--from",
        help="Copy of github.com/umanlp/RedditBias. Default: the cache of `evenhand data fetch redditbias`.",
    ),
    epochs: float | None = typer.Option(
        None,
        callback=require_positive,
        help="Number of passes over the texts. Default: 2; 1 for the sentences of evenhand.",
    ),
    batch_size: int | None = typer.Option(
        None,
        min=1,
        help="Number of texts per batch and device. Default: 8; 16 for the sentences of evenhand and "
        "for dialogues.",
    ),
    accumulation: int | None = typer.Option(
        None, min=1, help="Number of batches per optimiser step. Default: 1."
    ),
    learning_rate: float | None = typer.Option(
        None,
        callback=require_positive,
        help="Learning rate. Default: 5e-5; 1e-4 for the sentences of evenhand.",
    ),
    schedule: str | None = typer.Option(
        None, help="Learning-rate schedule: linear (falls to 0), cosine or constant. Default: linear."
    ),
    warm_up: float | None = typer.Option(
        None,
        callback=require_share,
        help="Share of steps over which the learning rate rises, from 0 to below 1. Default: 0.",
    ),
    longest: int | None = typer.Option(
        None,
        min=2,
        help="Maximum number of tokens per text; longer texts are cut. Default: 36; for dialogues "
        "the model's maximum.",
    ),
    start: str | None = typer.Option(
        None,
        help="Token before each text: auto (the token that evenhand uses when it scores texts) or none "
        "(published). Default: auto.",
    ),
    lora_rank: int | None = typer.Option(
        None, min=1, help="Train adapters of this rank instead of all weights."
    ),
    precision: str | None = typer.Option(
        None, help="Precision of the activations: float32 or bfloat16. Default: float32."
    ),
    gradient_checkpointing: bool | None = typer.Option(
        None, "--gradient-checkpointing", help="Use less memory; training is about a third slower."
    ),
    evaluate_every: int | None = typer.Option(
        None, min=1, help="Number of steps between evaluations. Default: one epoch."
    ),
    patience: int | None = typer.Option(
        None,
        min=1,
        help="Stop after this number of evaluations in a row without improvement. Improvement is a smaller bias, or "
        "for dialogue methods a smaller perplexity on held-out names. Default: never.",
    ),
    search: str | None = typer.Option(
        None,
        help="Train with several settings (grid or random) and choose one by its bias and perplexity on "
        "validation texts.",
    ),
    over: list[str] = typer.Option(
        [],
        help="With --search: setting of the method or the training to vary, as weight=0.1,1,10, or for random "
        "search as a range, 'weight=log(0.1,100)'. Repeatable.",
    ),
    trials: int | None = typer.Option(None, min=1, help="Number of trials of --search random. Default: 12."),
    choose: str | None = typer.Option(
        None,
        help="With --search: rule for choosing the trial. bias (smallest bias within --guard), pareto (best "
        "combination of bias and perplexity within --guard) or published (largest p; ignores perplexity). "
        "Default: bias.",
    ),
    guard: float | None = typer.Option(
        None,
        min=1,
        help="Largest allowed ratio of the chosen model's perplexity to the original's, on neutral texts. "
        "Default: 1.05.",
    ),
    keep_trials: bool | None = typer.Option(
        None, "--keep-trials", help="Keep the weights of all trials, not only of the chosen one."
    ),
    settings: list[str] = typer.Option(
        [], "--set", help="Set any option by name, for example clip=0.5. Repeatable."
    ),
    seed: int | None = typer.Option(None, min=0, help="Random seed. Default: 42."),
    device: flags.Device = None,
    revision: flags.Revision = None,
    trust_remote_code: flags.TrustRemoteCode = None,
) -> None:
    """Train bias out of a model, or remove it by projection. Saves weights, tokenizer, model card and lineage.

    Press Ctrl-C to stop; the same command resumes from the last checkpoint and ends with the same weights. At
    the end, evenhand prints the command that measures the effect and the cost, with the benchmarks for this
    bias: `evenhand before-after MODEL DIR -b ...`, or for dialogue methods `evenhand study names MODEL --row
    METHOD=DIR`.

    Requires pip install 'evenhand\\[training]'. For several devices: accelerate launch -m evenhand debias
    .... With --search, the trials are in DIR/search, and the chosen trial becomes DIR. The exit code is 3 if
    no trial meets the guard.

    \b
    Examples:
      evenhand debias gpt2 --method cda --bias evenhand/religion -o runs/debiased
      evenhand debias gpt2 --method lmd?weight=10 --bias race -o runs/debiased
    """
    given: dict[str, Any] = stated(options_of(locals(), "output", "settings"))
    from evenhand.studies.debias import NothingChosen, debias_config, debias_with

    try:
        made = debias_with(debias_config(given, settings), output=output, progress=progress())
    except NothingChosen as nothing:
        if nothing.shown is not None:
            show(nothing.shown, nothing.shown.paths)
        raise
    show(made, {"model": made.path, "report": made.paths["report"]})
