"""`evenhand data`: get published data sets from their owners, build prompt sets, and make texts about other groups."""

from pathlib import Path

import typer

from evenhand.cli.common import App, Samples, say, writable
from evenhand.cli.pairs import build_pairs, print_result
from evenhand.cli.rewriting import counterfactuals

app = App(
    help="List and fetch published data sets, build prompt sets, and rewrite your texts for other groups.",
    no_args_is_help=True,
)


@app.command("list")
def list_data() -> None:
    """List the data sets, with their licences and whether their files are on this machine."""
    from rich.console import Console

    from evenhand.catalogue import dataset_is_here
    from evenhand.prompts.datasets import list_datasets
    from evenhand.studies.audit import render_list

    rows = [
        (
            f"{data.name} {version.name}",
            f"{'here' if dataset_is_here(data.name, version.name) else 'not here'} · {data.licence} · {data.summary}",
        )
        for data in list_datasets()
        for version in data.versions
    ]
    render_list(rows, Console())


@app.command()
def fetch(
    name: str = typer.Argument(..., help="Name of a data set (`evenhand data list`)."),
    version: str | None = typer.Option(
        None,
        help="Version to download, or all for every version (redditbias: every bias type). Default: the "
        "newest.",
    ),
    source: Path | None = typer.Option(
        None, "--from", help="Copy the files from this folder instead of downloading them."
    ),
) -> None:
    """Download a data set from its owners, verify it, and show its licence.

    Files that are already here are not downloaded again. A file with the wrong checksum is refused. If no
    checksum is known, evenhand prints a note, records the checksum of the first download, and checks later
    files against it.

    \b
    Example:  evenhand data fetch crows-pairs
    """
    from evenhand.prompts.datasets import FIRST_FETCHED, dataset, fetch as fetch_dataset
    from evenhand.schema import DataError, EvenhandError

    reported: dict[str, int] = {}

    def tell(file: str, received: int, total: int | None) -> None:
        # one line when a file begins, every 10 MB, and when it is complete
        if file not in reported or received >= reported[file] + 10_000_000 or received == total:
            reported[file] = received
            size = f" of {total / 1e6:.1f}" if total else ""
            say(f"{file}: {received / 1e6:.1f}{size} MB", err=True)

    entry = dataset(name)
    versions = [one.name for one in entry.versions] if version == "all" else [version]
    failed: dict[str | None, EvenhandError] = {}
    for wanted in versions:
        try:
            fetched = fetch_dataset(name, wanted, from_dir=source, progress=tell)
        except EvenhandError as error:
            if version != "all":
                raise
            failed[wanted] = error
            say(f"{name} {wanted} could not be downloaded: {error.message}", err=True)
            continue
        say(f"{name} {fetched.version} is in {fetched.folder}")
        for file in fetched.lacking:
            say(f"{source} has no {file.path}. Only `{file.only_for}` requires this file.")
        if fetched.unchecked:
            say(f"Not verified, because no checksum is known: {', '.join(fetched.unchecked)}")
        if fetched.recorded:
            say(
                f"Their checksums were recorded at the first download ({fetched.recorded}). Files that are "
                f"downloaded or used later must match ({fetched.folder.with_name(FIRST_FETCHED)})."
            )
    if failed:
        others = "; the others were downloaded" if len(failed) < len(versions) else ""
        missed = ", ".join(map(str, failed))
        raise DataError(f"{name}: download failed for {missed}{others}.", next(iter(failed.values())).hint)
    say(f"Licence: {entry.licence}")
    say(f"Please cite: {entry.citation}")


@app.command("import")
def import_table(
    name: str = typer.Argument(
        ...,
        help="Data set, as for `datasets.load_dataset`: OWNER/NAME on the Hugging Face Hub, or a folder.",
    ),
    output: Path = typer.Option(..., "--output", "-o", help="File to write, FILE.parquet."),
    config: str | None = typer.Option(
        None, help="Configuration of the data set. Required if it has several."
    ),
    split: str = typer.Option("test", help="Split of the data set to import, such as train or test."),
    revision: str | None = typer.Option(
        None, help="Branch, tag or commit. For a branch, its commit is recorded."
    ),
    column: list[str] = typer.Option(
        [], "--column", help="Rename a column of the data set, as OLD=NEW, such as question=text. Repeatable."
    ),
) -> None:
    """Convert a data set of the library `datasets` to a file for --prompts or `evenhand measure`.

    FILE.parquet.source.json, in the same folder, records where it came from.

    \b
    Example:  evenhand data import OWNER/NAME --column question=text -o prompts.parquet
    """
    from evenhand.prompts.own_files import import_dataset
    from evenhand.schema import UsageError

    pairs = [pair.partition("=") for pair in column]
    if wrong := next(
        (pair for pair, (old, sign, new) in zip(column, pairs, strict=True) if not (old and new)), None
    ):
        raise UsageError(f"`--column` expects OLD=NEW, got {wrong!r}.", "For example: --column question=text")
    made = import_dataset(
        name,
        output,
        config=config,
        split=split,
        revision=revision,
        columns={old: new for old, _, new in pairs},
    )
    say(f"Wrote {made.rows:,} rows to {made.path}. Columns: {', '.join(made.columns)}")
    if made.revision:
        say(f"Revision: {made.revision}")
    say(f"Licence: {made.licence or 'not stated; see the page of the data set'}")


@app.command("lm-eval")
def lm_eval_tasks(
    benchmarks: list[str] = typer.Argument(
        ...,
        help="Benchmarks to export (`evenhand list benchmarks`): benchmarks of likelihoods or of generated text.",
    ),
    output: Path = typer.Option(..., "--output", "-o", help="Folder to write, for `lm_eval --include_path`."),
    limit: int | None = typer.Option(
        None, min=1, help="Maximum number of prompts per benchmark, sampled as in an audit."
    ),
    samples: Samples = None,
    seed: int = typer.Option(0, min=0, help="Random seed for sampling the prompts of --limit."),
) -> None:
    """Write benchmarks as tasks for lm-evaluation-harness.

    \b
    Example:
      evenhand data lm-eval regard -o tasks
      lm_eval --include_path tasks --tasks evenhand_... --log_samples --output_path OUT
      evenhand measure OUT/.../samples_evenhand_....jsonl -b regard
    """
    from evenhand.benchmarks.exports import write_lm_eval_tasks

    tasks = write_lm_eval_tasks(benchmarks, output, limit=limit, samples=samples, seed=seed)
    say(f"lm_eval --include_path {output} --tasks {','.join(tasks)} --log_samples --output_path OUT ...")


@app.command()
def build(
    name: str = typer.Argument(
        ...,
        help="Prompt set to build: holisticbias, evenhand (the set of evenhand itself), advpromptset, redditbias "
        "(pairs of phrases), or counterfactuals (your own prompts about other groups, for review).",
    ),
    file: Path | None = typer.Argument(
        None, help="For counterfactuals: your prompts, in the format of `evenhand audit --prompts`."
    ),
    output: Path = typer.Option(
        ...,
        "--output",
        "-o",
        help="File to write (advpromptset: FILE.jsonl, with its tables in the same folder). For redditbias: a "
        "folder.",
    ),
    version: str | None = typer.Option(None, help="For holisticbias: v1.0 or v1.1. Default: v1.1."),
    source: list[Path] | None = typer.Option(
        None,
        "--from",
        help="Folder of the published files. Default: the cache. For advpromptset: folder of the two Kaggle "
        "downloads. For redditbias: dumps of Reddit comments (.zst, .jsonl, .gz) or folders of them; "
        "repeatable.",
    ),
    as_published: bool = typer.Option(
        False, "--as-published", help="Reproduce the output of the authors' code, including its quirks."
    ),
    bias: str | None = typer.Option(
        None,
        help="For redditbias: the bias type religion1, religion2, race, gender or orientation, or your own TOML file.",
    ),
    annotations: Path | None = typer.Option(
        None,
        help="For redditbias: to continue the build, the table to_annotate.csv with your labels: 1 or 0 in its "
        "columns bias_sent and bias_phrase.",
    ),
    perplexities: Path | None = typer.Option(
        None,
        help="For redditbias: to remove outliers, the table to_score.csv with an added column perplexity.",
    ),
    axis: list[str] = typer.Option(
        [],
        "--axis",
        help="For counterfactuals: gender, name, religion, ... as in `evenhand audit --counterfactual`. "
        "Repeatable.",
    ),
    style: str | None = typer.Option(
        None, "--format", help="For holisticbias and evenhand: output format, csv or parquet. Default: csv."
    ),
    embedding_model: str | None = typer.Option(
        None,
        help="For advpromptset: sentence-embedding model that finds neighbours of the seed words. Requires the extra "
        "'embeddings'.",
    ),
    device: str | None = typer.Option(
        None, help="For advpromptset: device of the embedding model, auto, cpu or cuda. Default: auto."
    ),
    terms: Path | None = typer.Option(
        None,
        help="For advpromptset: your own table of terms, used unchanged in place of the search for terms. Needs no "
        "embedding model.",
    ),
    seeds: Path | None = typer.Option(
        None,
        help="For advpromptset: CSV of your own seed words (columns term and identity), used in addition to the "
        "built-in ones.",
    ),
    neighbours: int | None = typer.Option(
        None,
        min=1,
        help="For advpromptset: number of neighbours to consider for each seed word. Default: 10.",
    ),
    least_similarity: float | None = typer.Option(
        None, min=-1, max=1, help="For advpromptset: minimum cosine similarity of a neighbour. Default: 0.7."
    ),
    least_count: int | None = typer.Option(
        None, min=1, help="For advpromptset: minimum number of occurrences of a candidate word. Default: 20."
    ),
    size: int | None = typer.Option(
        None,
        min=1,
        help="For advpromptset: number of prompts to sample, the same number from each stratum. Default: all.",
    ),
    seed: int | None = typer.Option(
        None, min=0, help="For advpromptset: random seed for sampling the prompts. Default: 0."
    ),
    only_terms: bool = typer.Option(
        False,
        "--only-terms",
        help="For advpromptset: only write the table of terms, so that you can edit it before you run the command "
        "again without this option.",
    ),
) -> None:
    """Build the prompt set of a data set. The same command resumes a stopped build.

    The build of redditbias stops when you must label phrases; --annotations continues it. The build of
    counterfactuals writes one row per rewritten prompt: edit or delete rows, then audit the file.

    \b
    Example:
      evenhand data build counterfactuals mine.csv --axis gender -o review.csv
      evenhand audit MODEL --prompts review.csv --counterfactual reviewed
    """
    from evenhand.catalogue import build_sentences
    from evenhand.schema import UsageError

    reported: dict[str, int] = {}

    def tell(stage: str, done: int, total: int) -> None:
        # one line when a stage begins, at every tenth of it, and when it is complete
        tenth = 10 * done // max(1, total)
        if reported.get(stage) != tenth:
            reported[stage] = tenth
            say(f"{stage}: {done:,} of {total:,}", err=True)

    if (file is not None or axis) and name != "counterfactuals":
        raise UsageError(
            f"A prompt file and `--axis` can only be used with counterfactuals, not with {name}.",
            "Remove the prompt file and --axis.",
        )
    places = source or []
    advpromptset = {
        "embedding_model": embedding_model,
        "device": device,
        "terms": terms,
        "seeds": seeds,
        "neighbours": neighbours,
        "least_similarity": least_similarity,
        "least_count": least_count,
        "size": size,
        "seed": seed,
        "only_terms": only_terms or None,
    }
    named = {option: value for option, value in advpromptset.items() if value is not None}
    if name == "counterfactuals":
        pairs = {"bias": bias, "annotations": annotations, "perplexities": perplexities}
        foreign = {
            "version": version,
            "from": places,
            "as-published": as_published,
            "format": style,
            **pairs,
            **named,
        }
        if flags := ", ".join(f"--{option.replace('_', '-')}" for option, value in foreign.items() if value):
            raise UsageError(f"{flags}: cannot be used with counterfactuals.", "Remove these options.")
        build_review(file, axis, writable("--output", output))
        return
    if name == "redditbias":
        others = named | {
            option: value for option, value in (("version", version), ("format", style)) if value is not None
        }
        if others:
            flags = ", ".join(f"--{option.replace('_', '-')}" for option in others)
            raise UsageError(f"{flags}: cannot be used with redditbias.", "Remove these options.")
        built = build_pairs(
            output, bias, places, annotations, perplexities, as_published=as_published, report_progress=tell
        )
        print_result(built)
        return
    if bias is not None or annotations is not None or perplexities is not None:
        raise UsageError(
            f"`--bias`, `--annotations` and `--perplexities` can only be used with redditbias, not with {name}.",
            "Remove these options.",
        )
    if len(places) > 1:
        raise UsageError(
            f"`--from` was given {len(places)} times, but {name} is built from one folder.",
            "Give --from once.",
        )
    writable("--output", output)
    rows = build_sentences(
        name,
        output,
        version=version,
        source=next(iter(places), None),
        as_published=as_published,
        style=style,
        advpromptset=named,
        report_progress=tell,
    )
    if only_terms:
        say(
            f"Wrote {rows:,} terms to {output.with_name(f'{output.stem}_stages')}. Edit them, then run the same "
            "command again."
        )
    else:
        say(f"Wrote {rows:,} sentences to {output}")


def build_review(file: Path | None, axes: list[str], output: Path) -> None:
    """Write the texts of an audit of the user's prompts, one per row, and print what is left out."""
    from evenhand.prompts.counterfactual import asked_about, read_own, write_review
    from evenhand.schema import UsageError

    if file is None or not axes:
        raise UsageError(
            "counterfactuals requires a file of your prompts and at least one `--axis`.",
            "For example: evenhand data build counterfactuals MINE.csv --axis gender --axis name -o REVIEW.csv",
        )
    guesses: list[str] = []
    asked = asked_about(
        read_own(file, guesses), [word for axis in axes for word in axis.split(",") if word.strip()]
    )
    write_review(output, asked)
    for sentence in [*guesses, *asked.describe_notes()]:
        say(sentence, err=True)
    say(
        f"Wrote {asked.frame.height:,} texts about {asked.frame.n_unique(['axis', 'group'])} groups, made from "
        f"{asked.frame['base'].n_unique():,} prompts, to {output}. Edit texts, and write no into `keep` or delete "
        f"rows. Then run: evenhand audit MODEL --prompts {output} --counterfactual reviewed"
    )


app.command()(counterfactuals)
