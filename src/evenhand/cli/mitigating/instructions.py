"""`evenhand search-instruction`: search for an instruction that reduces harmful continuations."""

from pathlib import Path

import typer

from evenhand.cli import model_flags as flags
from evenhand.cli.common import Prompts, Samples, Seed, convert_flags, progress, show


def search_instruction(
    model: str = typer.Argument(
        ...,
        help="Model, in the format of `evenhand audit`. To resume a search, give its folder.",
    ),
    benchmark: str | None = typer.Option(
        None,
        "--benchmark",
        "-b",
        help="Benchmark whose prompts are used in the search. Its responses must be classified: toxigen, "
        "bold, regard, ...",
    ),
    reviser: str | None = typer.Option(
        None,
        help="Reviser that rewords instructions: `rules` (works offline, few variants), or a model that follows "
        "instructions. Default: rules.",
    ),
    instruction: list[str] = typer.Option(
        [],
        "--instruction",
        help="Initial instruction. Repeatable. Default: the four instructions of `evenhand list mitigations`.",
    ),
    iterations: int | None = typer.Option(None, min=1, help="Number of rewording rounds. Default: 10."),
    keep: int | None = typer.Option(
        None, min=1, help="Number of instructions kept after each round. Default: 5."
    ),
    variants: int | None = typer.Option(
        None, min=1, help="Number of rewordings of each instruction. Default: 4."
    ),
    most_words: int | None = typer.Option(
        None, min=1, help="Maximum number of words of an instruction; longer ones are dropped. Default: 60."
    ),
    subset: int | None = typer.Option(
        None, min=10, help="Number of prompts per round, sampled again for each round. Default: 300."
    ),
    final: int | None = typer.Option(
        None, min=10, help="Number of prompts reserved for the final choice. Default: 1000, but at most half."
    ),
    group_weight: float | None = typer.Option(
        None,
        min=0,
        help="Weight of group differences in the search. The search minimises the rate of harmful responses plus this "
        "weight times the share of groups with more harmful responses than the other groups. Default: 0.",
    ),
    role: str | None = typer.Option(
        None,
        help="Role of the classifier whose rate the search reduces, such as toxicity or regard. Required if the "
        "benchmark has several classifiers.",
    ),
    classifier: list[str] = typer.Option(
        [], "--classifier", help="Classifier, in the format of `evenhand audit`."
    ),
    prompts: Prompts = None,
    decoding: str | None = typer.Option(None, help="Decoding settings, as in `evenhand audit`."),
    samples: Samples = None,
    max_new_tokens: int | None = typer.Option(None, min=1, help="Maximum length of a response, in tokens."),
    seed: Seed = None,
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
        None, "--output", "-o", help="Folder for the search. Default: a new folder in runs/."
    ),
) -> None:
    """Search for the instruction that reduces harm most, by repeated rewording and testing.

    Each round rewords the best instructions, tests all of them on the same prompts and keeps the best. The
    final choice uses prompts that no round has used, and is compared with no instruction, with a confidence
    interval. Press Ctrl-C to stop; `evenhand search-instruction FOLDER` resumes the search. The result is the
    file instruction.json.

    \b
    Examples:
      evenhand search-instruction gpt2 --benchmark toxigen -o runs/search
      evenhand audit gpt2 --mitigate instruction-file=runs/search/instruction.json
    """
    given = convert_flags(
        locals(), "model", "classifier", "trust_addresses", "output", called={"instruction": "instructions"}
    )
    from evenhand.runs import resumable
    from evenhand.schema import UsageError
    from evenhand.studies.search_instruction import (
        INSTRUCTION_FILE,
        is_search,
        resumed_search,
        revision_config,
        run_search,
    )

    if is_search(Path(model)):
        named = {**given, "classifier": tuple(classifier), "output": output}
        options, output = resumed_search(Path(model), named, trust_addresses=trust_addresses), Path(model)
    else:
        if benchmark is None:
            raise UsageError(
                "Missing option: `--benchmark`.",
                "For example: --benchmark toxigen. List all benchmarks with `evenhand list benchmarks`.",
            )
        options = revision_config({"model": model, **given}, classifier)
    search = run_search(options, output=output, progress=progress())
    with resumable(f"Resume with: evenhand search-instruction {search.path}"):
        show(search, {"instruction": search.path / INSTRUCTION_FILE, "report": search.paths["report"]})
