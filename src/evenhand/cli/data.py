"""`evenhand data`: get published data sets from their owners, build prompt sets, and make texts about other groups."""

from pathlib import Path

import typer

from evenhand.cli.common import say, writable
from evenhand.cli.pairs import build_pairs, told

app = typer.Typer(
    help="Published data sets: list them, fetch them, build prompt sets; and your texts about other groups.",
    no_args_is_help=True,
)


@app.command("list")
def list_data() -> None:
    """List the data sets, with licence and whether they are on this machine."""
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
    name: str = typer.Argument(..., help="A data set that `evenhand data list` shows."),
    version: str | None = typer.Option(
        None, help="Default: the newest; all fetches every one (redditbias: every bias type)."
    ),
    source: Path | None = typer.Option(
        None, "--from", help="Take the files from this folder instead of the network."
    ),
) -> None:
    """Download a data set from where its owners publish it, verify it, and show its licence.

    Files that have arrived are not fetched again; one whose content is not what was pinned is refused. Where no
    checksum is known, that is said, and what first arrived is recorded and compared with from then on.
    """
    from evenhand.prompts.datasets import FIRST_FETCHED, dataset, fetch as fetch_dataset
    from evenhand.schema import DataError, EvenhandError

    reported: dict[str, int] = {}

    def tell(file: str, received: int, total: int | None) -> None:
        # a line when a file begins, every 10 MB, and when it is complete
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
            say(f"{name} {wanted} did not arrive: {error.message}", err=True)
            continue
        say(f"{name} {fetched.version} is in {fetched.folder}")
        for file in fetched.lacking:
            say(f"Not in {source}, and needed for `{file.only_for}`: {file.path}")
        if fetched.unchecked:
            say(f"Not checked, because no checksum is known: {', '.join(fetched.unchecked)}")
        if fetched.recorded:
            say(
                f"They were recorded when they first arrived ({fetched.recorded}); whatever is fetched or used later "
                f"must be the same ({fetched.folder.with_name(FIRST_FETCHED)})."
            )
    if failed:
        others = "; the others are here" if len(failed) < len(versions) else ""
        missed = ", ".join(map(str, failed))
        raise DataError(f"Of {name} did not arrive: {missed}{others}.", next(iter(failed.values())).hint)
    say(f"Licence: {entry.licence}")
    say(f"Please cite: {entry.citation}")


@app.command("import")
def import_table(
    name: str = typer.Argument(
        ..., help="As `datasets.load_dataset` takes it: OWNER/NAME of the hub, or a folder."
    ),
    output: Path = typer.Option(..., "--output", "-o", help="The file to write, FILE.parquet."),
    config: str | None = typer.Option(None, help="Its configuration, where it has several."),
    split: str = typer.Option("test", help="Which split."),
    revision: str | None = typer.Option(
        None, help="Branch, tag or commit; a branch is recorded as its commit."
    ),
    column: list[str] = typer.Option(
        [], "--column", help="THEIRS=OURS: call a column otherwise, such as question=text; repeatable."
    ),
) -> None:
    """Make a file of a data set that the library `datasets` loads, for --prompts or `evenhand measure`.

    Beside it, FILE.parquet.source.json says where it is from.
    """
    from evenhand.prompts.own_files import import_dataset
    from evenhand.schema import UsageError

    pairs = [pair.partition("=") for pair in column]
    if wrong := next(
        (pair for pair, (old, sign, new) in zip(column, pairs, strict=True) if not (old and new)), None
    ):
        raise UsageError(f"--column takes THEIRS=OURS, not {wrong!r}.", "For example: --column question=text")
    made = import_dataset(
        name,
        output,
        config=config,
        split=split,
        revision=revision,
        columns={old: new for old, _, new in pairs},
    )
    say(f"{made.rows:,} rows are in {made.path}: {', '.join(made.columns)}")
    if made.revision:
        say(f"Revision: {made.revision}")
    say(f"Licence: {made.licence or 'not stated; look at its page'}")


@app.command("lm-eval")
def lm_eval_tasks(
    benchmarks: list[str] = typer.Argument(..., help="Benchmarks by name, of likelihoods or continuations."),
    output: Path = typer.Option(..., "--output", "-o", help="The folder for `lm_eval --include_path`."),
    limit: int | None = typer.Option(
        None, min=1, help="At most so many prompts each, as an audit takes them."
    ),
    samples: int | None = typer.Option(None, min=1, help="Continuations a prompt. Default: the benchmark's."),
    seed: int = typer.Option(0, min=0, help="Of the prompts that --limit takes."),
) -> None:
    """Write benchmarks as tasks of lm-evaluation-harness.

    Run them with `lm_eval --include_path FOLDER --tasks evenhand_... --log_samples --output_path OUT`; then
    `evenhand measure OUT/.../samples_evenhand_....jsonl -b BENCHMARK` says what the answers show.
    """
    from evenhand.benchmarks.exports import write_lm_eval_tasks

    tasks = write_lm_eval_tasks(benchmarks, output, limit=limit, samples=samples, seed=seed)
    say(f"lm_eval --include_path {output} --tasks {','.join(tasks)} --log_samples --output_path OUT ...")


@app.command()
def build(
    name: str = typer.Argument(
        ...,
        help="holisticbias, evenhand for our own set, advpromptset, redditbias (pairs of phrases), or counterfactuals "
        "(your own prompts asked about other groups, to be reviewed).",
    ),
    file: Path | None = typer.Argument(None, help="counterfactuals: your prompts, as for `evenhand audit`."),
    output: Path = typer.Option(
        ...,
        "--output",
        "-o",
        help="The file to write (advpromptset: FILE.jsonl; its tables go beside it); redditbias: a folder.",
    ),
    version: str | None = typer.Option(None, help="holisticbias: v1.0 or v1.1 (default)."),
    source: list[Path] | None = typer.Option(
        None,
        "--from",
        help="Folder of the published files (else the cache); advpromptset: of the two Kaggle downloads; redditbias: "
        "dumps of Reddit comments (.zst, .jsonl, .gz) or folders of them, repeatable.",
    ),
    as_published: bool = typer.Option(
        False, "--as-published", help="As the owners' code writes it, quirks included."
    ),
    bias: str | None = typer.Option(
        None, help="redditbias: religion1, religion2, race, gender, orientation, or a TOML file of your own."
    ),
    annotations: Path | None = typer.Option(
        None, help="redditbias: the labelled table (1 and 0 in bias_sent and bias_phrase), to go on with."
    ),
    perplexities: Path | None = typer.Option(
        None, help="redditbias: to_score.csv with a column perplexity, to leave outliers out."
    ),
    axis: list[str] = typer.Option(
        [],
        "--axis",
        help="counterfactuals: gender, name, religion, ... as for `evenhand audit --counterfactual`; repeatable.",
    ),
    style: str | None = typer.Option(None, "--format", help="csv (default) or parquet."),
    embedding_model: str | None = typer.Option(
        None,
        help="Sentence-embedding model that finds neighbours of the seed words (needs the extra 'embeddings').",
    ),
    device: str | None = typer.Option(
        None, help="Where the embedding model runs: auto (default), cpu, cuda."
    ),
    terms: Path | None = typer.Option(None, help="A table of terms to take as it is; no model is needed."),
    seeds: Path | None = typer.Option(
        None, help="Seed words of your own beside the built-in ones: a CSV with term and identity."
    ),
    neighbours: int | None = typer.Option(None, help="Neighbours looked at for each seed word (10)."),
    least_similarity: float | None = typer.Option(None, help="Cosine from which they count (0.7)."),
    least_count: int | None = typer.Option(None, help="Occurrences from which a word is a candidate (20)."),
    size: int | None = typer.Option(None, help="Prompts to draw, evenly over strata (all)."),
    seed: int | None = typer.Option(None, min=0, help="Of that draw (0)."),
    only_terms: bool = typer.Option(
        False, "--only-terms", help="Stop at the table of terms: edit it, run again."
    ),
) -> None:
    """Write the sentence set of a data set. Options from --embedding-model on belong to advpromptset.

    redditbias makes its tables in a folder, and stops where phrases are to be labelled; go on with --annotations.
    The same command goes on where it was stopped. counterfactuals writes one row per text that would be asked: edit or
    delete rows, then run `evenhand audit MODEL --prompts REVIEW.csv --counterfactual reviewed`.
    """
    from evenhand.catalogue import build_sentences
    from evenhand.schema import UsageError

    reported: dict[str, int] = {}

    def tell(stage: str, done: int, total: int) -> None:
        # a line when a stage begins, at every tenth of it, and when it is complete
        tenth = 10 * done // max(1, total)
        if reported.get(stage) != tenth:
            reported[stage] = tenth
            say(f"{stage}: {done:,} of {total:,}", err=True)

    if (file is not None or axis) and name != "counterfactuals":
        raise UsageError(f"A file and --axis belong to counterfactuals, not to {name}.", "Leave them out.")
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
            raise UsageError(f"{flags}: such options do not belong to counterfactuals.", "Leave them out.")
        build_review(file, axis, writable("--output", output))
        return
    if name == "redditbias":
        others = named | {
            option: value for option, value in (("version", version), ("format", style)) if value is not None
        }
        if others:
            flags = ", ".join(f"--{option.replace('_', '-')}" for option in others)
            raise UsageError(f"{flags}: such options do not belong to redditbias.", "Leave them out.")
        built = build_pairs(
            output, bias, places, annotations, perplexities, as_published=as_published, report_progress=tell
        )
        told(built)
        return
    if bias is not None or annotations is not None or perplexities is not None:
        raise UsageError(
            f"--bias, --annotations and --perplexities belong to redditbias, not to {name}.",
            "Leave them out.",
        )
    if len(places) > 1:
        raise UsageError(f"--from names {len(places)} places; {name} is built from one.", "Name one folder.")
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
        say(f"{rows:,} terms written to {output.with_name(f'{output.stem}_stages')}; edit, then run again")
    else:
        say(f"{rows:,} sentences written to {output}")


def build_review(file: Path | None, axes: list[str], output: Path) -> None:
    """Write the texts that an audit of a user's own prompts would ask, one a row, and say what is left out."""
    from evenhand.prompts.counterfactual import asked_about, read_own, write_review
    from evenhand.schema import UsageError

    if file is None or not axes:
        raise UsageError(
            "counterfactuals are built of your own prompts, on axes that you name.",
            "evenhand data build counterfactuals MINE.csv --axis gender --axis name -o REVIEW.csv",
        )
    guesses: list[str] = []
    asked = asked_about(
        read_own(file, guesses), [word for axis in axes for word in axis.split(",") if word.strip()]
    )
    write_review(output, asked)
    for sentence in [*guesses, *asked.told()]:
        say(sentence, err=True)
    say(
        f"{asked.frame.height:,} texts about {asked.frame.n_unique(['axis', 'group'])} groups, made of "
        f"{asked.frame['base'].n_unique():,} prompts, written to {output}. Edit texts, write no into `keep` or delete "
        f"rows; then: evenhand audit MODEL --prompts {output} --counterfactual reviewed"
    )


@app.command()
def counterfactuals(
    file: Path = typer.Argument(
        ..., help="Texts: CSV, JSONL or Parquet with a column `text`, or .txt with one a line."
    ),
    axis: str = typer.Option(
        ...,
        help="gender, name_origin, or an axis of the lexicon: religion, nationality, race_ethnicity, age, ability, ...",
    ),
    target: str = typer.Option(..., "--to", help="The group that the texts are to be about."),
    source: list[str] = typer.Option(
        [], "--from", help="The group whose words are replaced; repeatable. Default: all others of the axis."
    ),
    output: Path = typer.Option(
        ...,
        "--output",
        "-o",
        help="FILE.csv: every change, a row each, for review. FILE.jsonl or FILE.parquet: every text.",
    ),
    both: bool = typer.Option(
        False, "--both", help="Exchange the two groups: words of the target become the source's as well."
    ),
    names: bool = typer.Option(True, help="gender: change first names, too."),
    quotes: bool = typer.Option(False, "--quotes", help="Change also what stands in quotation marks."),
    column: str = typer.Option("text", help="The column that holds the texts."),
) -> None:
    """Make the same texts about another group, and list every change.

    Case, number and articles are kept; code, addresses, {{...}}, names of works and quotations are left alone. Rules
    decide, not a model: read the changes before you use them (docs/explanation/counterfactuals.md says how often they
    are right).
    """
    from evenhand.prompts.counterfactual import (
        check_ending,
        counterfactuals as made_of,
        write_counterfactuals,
    )

    check_ending(writable("--output", output))
    frame = made_of(
        file, axis, target=target, source=source or None, both=both, names=names, quotes=quotes, column=column
    )
    write_counterfactuals(output, frame, column)
    changed = frame["changes"].list.len()
    say(
        f"{int((changed > 0).sum()):,} of {frame.height:,} texts changed, {int(changed.sum() or 0):,} changes, "
        f"written to {output}"
    )
