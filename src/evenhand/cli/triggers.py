"""`evenhand search-trigger`: finds the tokens behind which a model does what it is asked for, whatever the prompt."""

from pathlib import Path

import typer


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
    dtype: str = typer.Option("auto", help="auto, float32, bfloat16 or float16."),
    device: str = typer.Option("auto", help="auto, cpu, cuda, cuda:1, mps."),
) -> None:
    """Search a trigger by gradients, choose among rounds by what the model writes, test it on prompts set aside.

    Press Ctrl-C at any time: the same command goes on after the last whole sweep. Use what was found with
    `evenhand audit MODEL --mitigate trigger=FILE`.
    """
    from typing import Any, cast

    from evenhand.classifiers.judged_text import JudgedText
    from evenhand.classifiers.loading import load_classifier
    from evenhand.mitigations.trigger_examples import read_examples, read_trigger_prompts
    from evenhand.mitigations.trigger_finding import find_trigger
    from evenhand.mitigations.trigger_objective import Mode, Objective
    from evenhand.mitigations.trigger_state import SearchOptions
    from evenhand.models import load_model
    from evenhand.models.decoding import Decoding
    from evenhand.schema import Interrupted

    objective = Objective(mode=cast(Mode, mode), against=against, favour=favour, fluency=fluency)
    options = SearchOptions(
        tokens=tokens,
        initial=initial,
        restarts=restarts,
        sweeps=sweeps,
        candidates=candidates,
        beam=beam,
        words_only=not punctuation,
        exclude=tuple(exclude),
        most_perplexity=most_perplexity,
        seed=seed,
    )
    decoding = Decoding(
        max_new_tokens=max_new_tokens,
        temperature=temperature,
        top_k=top_k or None,
        samples=samples,
        seed=seed,
    )
    listed = read_trigger_prompts(prompts)
    labelled = read_examples(examples) if examples else None
    judge = load_classifier(classifier, device=device)
    state = output.with_name(f"{output.stem}.state.json")

    def tell(row: dict[str, Any]) -> None:
        typer.echo(
            f"round {row['restart'] + 1}, sweep {row['sweep']}: loss {row['loss']:.4f}  {row['text']!r}",
            err=True,
        )

    try:
        found = find_trigger(
            load_model(model, device=device, dtype=dtype),
            listed,
            judge,
            examples=labelled,
            objective=objective,
            options=options,
            decoding=decoding,
            rule=JudgedText(
                part="prompt+continuation" if judge_prompt else "continuation", first_sentence=first_sentence
            ),
            most_perplexity_ratio=guard,
            resume=state,
            on_sweep=tell,
        )
    except KeyboardInterrupt as stop:
        raise Interrupted(
            "The search was stopped.", f"The same command goes on after its last sweep ({state})."
        ) from stop
    found.write(output)
    typer.echo(f"trigger: {found.text!r}")
    typer.echo(found.effect["sentence"])
    if note := found.choice["note"]:
        typer.echo(f"Note: {note}")
    if found.mode == "induce":
        typer.echo("It was searched to bring out bias: for red-teaming measurement only.")
    typer.echo(f"written to {output}")
