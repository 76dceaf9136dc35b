"""`evenhand debias`: trains a bias out of a model, into a folder that every verb takes as a model."""

from pathlib import Path
from typing import Any

import typer

from evenhand.cli import model_flags as flags
from evenhand.cli.common import options_of, progress, show, stated


def debias(
    model: str = typer.Argument(
        ...,
        help="A causal Hugging Face model, for methods of dialogues also an encoder-decoder: a hub name, a folder, "
        "evenhand/reference.",
    ),
    method: str = typer.Option(
        ...,
        "--method",
        "-m",
        help="lmd, add, hd, cda, dpo; of dialogues self-chat, name-scrambling, unlikelihood-token, "
        "unlikelihood-sequence, control-gender, control-tokens, style-equality; without training inlp, "
        "sentence-debias (`evenhand list methods`). With options: lmd?weight=10.",
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
        "columns prompt, chosen, rejected. For methods of dialogues a run of self-chats (style-equality: of "
        "holisticbias-styles), or a table (docs/how-to/debias_a_dialogue_model.md).",
    ),
    source: Path | None = typer.Option(
        None,
        "--from",
        help="A copy of github.com/umanlp/RedditBias. Default: the cache of `evenhand data fetch redditbias`.",
    ),
    epochs: float | None = typer.Option(
        None, help="Times that every text is read. Default: 2; of our own 1."
    ),
    batch_size: int | None = typer.Option(
        None, min=1, help="Texts at once on each device. Default: 8; of our own, and of dialogues, 16."
    ),
    accumulation: int | None = typer.Option(None, min=1, help="Batches that make one step. Default: 1."),
    learning_rate: float | None = typer.Option(None, help="Default: 5e-5; for our own sentences 1e-4."),
    schedule: str | None = typer.Option(None, help="linear (falls to 0), cosine, constant. Default: linear."),
    warm_up: float | None = typer.Option(None, help="Share of steps over which the rate rises. Default: 0."),
    longest: int | None = typer.Option(
        None, min=2, help="Tokens of a text; the rest is cut. Default: 36; of dialogues all that is read."
    ),
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
        None,
        min=1,
        help="Evaluations without a smaller bias, for methods of dialogues without a smaller perplexity of watched "
        "names, after which training stops. Default: never.",
    ),
    search: str | None = typer.Option(
        None,
        help="grid or random: train with several settings, and choose by bias and perplexity on validation texts.",
    ),
    over: list[str] = typer.Option(
        [],
        help="With --search: what is varied, of the method or the loop: weight=0.1,1,10, or with random a range, "
        "'learning_rate=log(1e-5,1e-3)'; repeatable.",
    ),
    trials: int | None = typer.Option(None, min=1, help="Of --search random. Default: 12."),
    choose: str | None = typer.Option(
        None,
        help="With --search: bias (the least within --guard), pareto (within it the best of both), published (largest "
        "p; blind to perplexity). Default: bias.",
    ),
    guard: float | None = typer.Option(
        None,
        min=1,
        help="How many times as perplexed by neutral texts the chosen model may be. Default: 1.05.",
    ),
    keep_trials: bool | None = typer.Option(
        None, "--keep-trials", help="Keep the weights of all trials, not of the chosen one alone."
    ),
    settings: list[str] = typer.Option(
        [], "--set", help="Any option as name=value, e.g. clip=0.5; repeatable."
    ),
    seed: int | None = typer.Option(None, min=0, help="Of everything random. Default: 42."),
    device: flags.Device = None,
    revision: flags.Revision = None,
    trust_remote_code: flags.TrustRemoteCode = None,
) -> None:
    """Train or project a bias out of a model; the folder holds weights, tokenizer, model card and lineage.

    Press Ctrl-C at any time: the same command goes on after the last checkpoint, to the same weights. What it helped
    and cost is measured by the command printed in the end: evenhand before-after MODEL DIR with
    -b redditbias -b redditbias-lmp, or behind evenhand/AXIS with -b evenhand-likelihood --axis AXIS; for methods of
    dialogues evenhand study names MODEL --row METHOD=DIR. Needs pip install 'evenhand\\[training]'. On several
    devices: accelerate launch -m evenhand debias .... With --search the trials lie in DIR/search, and the chosen one
    becomes DIR; exit code 3: none is within the guard.
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
