"""`evenhand revise`: looks for the instruction behind which a model writes least that is harmful."""

import sys
from pathlib import Path

import typer


def revise(
    model: str = typer.Argument(
        ...,
        help="A model as for `evenhand audit`, or the folder of an earlier search, which is then gone on with.",
    ),
    benchmark: str | None = typer.Option(
        None, "--benchmark", "-b", help="Judged continuations to search by: toxigen, bold, regard, ..."
    ),
    reviser: str | None = typer.Option(
        None,
        help="Who rewords: `rules` (offline, few ideas), or a model that follows instructions. Default: rules.",
    ),
    instruction: list[str] = typer.Option(
        [],
        "--instruction",
        help="To begin with; repeatable. Default: the four of `evenhand list mitigations`.",
    ),
    iterations: int | None = typer.Option(None, min=1, help="Rounds of rewording. Default: 10."),
    keep: int | None = typer.Option(None, min=1, help="Instructions that survive a round. Default: 5."),
    variants: int | None = typer.Option(None, min=1, help="Rewordings of each. Default: 4."),
    most_words: int | None = typer.Option(None, min=1, help="Longer instructions are dropped. Default: 60."),
    subset: int | None = typer.Option(None, min=10, help="Prompts of a round, new each time. Default: 300."),
    final: int | None = typer.Option(
        None, min=10, help="Prompts kept for the final choice. Default: 1000, at most half."
    ),
    group_weight: float | None = typer.Option(
        None,
        min=0,
        help="Weight of the share of groups that are spoken of worse than the others. Default: 0.",
    ),
    role: str | None = typer.Option(
        None, help="Whose judgement counts, where a benchmark has several judges."
    ),
    classifier: list[str] = typer.Option([], "--classifier", help="Who judges, as for `evenhand audit`."),
    prompts: Path | None = typer.Option(None, help="Your own prompts in place of the benchmark's."),
    decoding: str | None = typer.Option(None, help="How continuations are written, as for `evenhand audit`."),
    samples: int | None = typer.Option(None, min=1, help="Continuations a prompt. Default: the benchmark's."),
    max_new_tokens: int | None = typer.Option(None, min=1, help="Tokens after which a continuation is cut."),
    seed: int | None = typer.Option(None, help="Of everything random. Default: 0."),
    dtype: str | None = typer.Option(None, help="auto, float32, bfloat16 or float16. Default: auto."),
    device: str | None = typer.Option(None, help="auto, cpu, cuda, cuda:1, mps. Default: auto."),
    trust_remote_code: bool = typer.Option(
        False, "--trust-remote-code", help="Run Python code that comes with the model."
    ),
    trust_addresses: bool = typer.Option(
        False,
        "--trust-addresses",
        help="On going on, ask servers that only the folder names, with your keys.",
    ),
    output: Path | None = typer.Option(
        None, "--output", "-o", help="The search's folder. Default: a new one in runs/."
    ),
) -> None:
    """Search for an instruction: reword the best, try all on the same prompts, keep the best, again.

    The last choice is made on prompts that no round saw, and stated with an interval against no instruction. Press
    Ctrl-C at any time; `evenhand revise FOLDER` goes on where it stopped. The result is instruction.json:
    `evenhand audit MODEL --mitigate instruction-file=FOLDER/instruction.json`.
    """
    from rich.console import Console

    from evenhand.reports.revision import render_revision, write_revision_page
    from evenhand.runs import default_path, progress_for
    from evenhand.schema import UsageError
    from evenhand.studies.audit import load_audited_model
    from evenhand.studies.config import read_config
    from evenhand.studies.prompt_revision import INSTRUCTION_FILE, revise_prompts
    from evenhand.studies.revision_options import RevisionConfig
    from evenhand.studies.revision_record import is_search, resumed_search
    from evenhand.studies.selection import with_classifiers

    own = {
        "reviser": reviser,
        "instructions": tuple(instruction) or None,
        "iterations": iterations,
        "keep": keep,
        "variants": variants,
        "most_words": most_words,
        "subset": subset,
        "final": final,
        "group_weight": group_weight,
        "role": role,
    }
    audit = {
        "benchmarks": (benchmark,) if benchmark else None,
        "prompts": str(prompts) if prompts else None,
        "decoding": decoding,
        "samples": samples,
        "max_new_tokens": max_new_tokens,
        "seed": seed,
        "dtype": dtype,
    }
    if is_search(Path(model)):
        given = [
            name
            for name, value in {**own, **audit, "classifiers": classifier or None}.items()
            if value is not None
        ]
        if given or output:
            raise UsageError(
                f"{model} is a search that was begun, and {', '.join(given) or 'output'} was given.",
                "Leave options out to go on with it, or start another search.",
            )
        folder = Path(model)
        options = resumed_search(folder, trust_remote_code=trust_remote_code, trust_addresses=trust_addresses)
        if device is not None:
            options = options.model_copy(
                update={"audit": options.audit.model_copy(update={"device": device})}
            )
    else:
        if benchmark is None:
            raise UsageError(
                "Which benchmark to search by was not said.",
                "For example: --benchmark toxigen (`evenhand list benchmarks`).",
            )
        settings = {
            "model": model,
            "device": device,
            "trust_remote_code": trust_remote_code or None,
            **audit,
        }
        base = with_classifiers(
            read_config(None, [], {k: v for k, v in settings.items() if v is not None}), classifier
        )
        options = RevisionConfig.model_validate(
            {"audit": base, **{k: v for k, v in own.items() if v is not None}}
        )
        folder = output or default_path(model, f"revise-{benchmark}")
    found = revise_prompts(
        options, load_audited_model(options.audit), folder, progress=progress_for(sys.stderr)
    )
    page = write_revision_page(found)
    paths = {"instruction": str(found.folder / INSTRUCTION_FILE), "report": str(page)}
    render_revision(found, Console(), paths)
