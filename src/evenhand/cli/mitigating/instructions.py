"""`evenhand search-instruction`: looks for the instruction behind which a model writes least that is harmful."""

from pathlib import Path

import typer

from evenhand.cli import model_flags as flags
from evenhand.cli.common import options_of, progress, show


def search_instruction(
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
    seed: int | None = typer.Option(None, min=0, help="Of everything random. Default: 0."),
    dtype: flags.Dtype = None,
    device: flags.Device = None,
    revision: flags.Revision = None,
    trust_remote_code: flags.TrustRemoteCode = None,
    batch_tokens: flags.BatchTokens = None,
    chat: flags.Chat = None,
    system: flags.System = None,
    allow_longer: flags.AllowLonger = None,
    trust_addresses: flags.TrustAddresses = False,
    output: Path | None = typer.Option(
        None, "--output", "-o", help="The search's folder. Default: a new one in runs/."
    ),
) -> None:
    """Search for an instruction: reword the best, try all on the same prompts, keep the best, again.

    The last choice is made on prompts that no round saw, and stated with an interval against no instruction. Press
    Ctrl-C at any time; `evenhand search-instruction FOLDER` goes on where it stopped. The result is instruction.json:
    `evenhand audit MODEL --mitigate instruction-file=FOLDER/instruction.json`.
    """
    given = options_of(
        locals(), "model", "classifier", "trust_addresses", "output", called={"instruction": "instructions"}
    )
    from evenhand.runs import resumable
    from evenhand.schema import UsageError
    from evenhand.studies.search_instruction import (
        INSTRUCTION_FILE,
        is_search,
        resumed_search,
        revision_config,
        search_with,
    )

    if is_search(Path(model)):
        named = {**given, "classifier": tuple(classifier), "output": output}
        options, output = resumed_search(Path(model), named, trust_addresses=trust_addresses), Path(model)
    else:
        if benchmark is None:
            raise UsageError(
                "Which benchmark to search by was not said.",
                "For example: --benchmark toxigen (`evenhand list benchmarks`).",
            )
        options = revision_config({"model": model, **given}, classifier)
    search = search_with(options, output=output, progress=progress())
    with resumable(f"Go on with: evenhand search-instruction {search.path}"):
        show(search, {"instruction": search.path / INSTRUCTION_FILE, "report": search.paths["report"]})
