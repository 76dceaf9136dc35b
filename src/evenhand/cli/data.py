"""`evenhand data`: get published data sets from their owners, and build prompt sets from them."""

from pathlib import Path

import typer

app = typer.Typer(
    help="Published data sets: list them, fetch them from their owners, build prompt sets.",
    no_args_is_help=True,
)


@app.command("list")
def list_data() -> None:
    """List the data sets, with licence and whether they are on this machine."""
    from rich.console import Console

    from evenhand.prompts.datasets import list_datasets
    from evenhand.reports.catalogue import dataset_is_here
    from evenhand.reports.terminal import render_list

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
    version: str | None = typer.Option(None, help="Default: the newest."),
    source: Path | None = typer.Option(
        None, "--from", help="Take the files from this folder instead of the network."
    ),
) -> None:
    """Download a data set from where its owners publish it, verify it, and show its licence.

    An interrupted download goes on where it stopped; a file whose content is not what was pinned is refused.
    """
    from evenhand.prompts.datasets import fetch as fetch_dataset

    told: dict[str, int] = {}

    def tell(file: str, received: int, total: int | None) -> None:
        # a line when a file begins, every 10 MB, and when it is complete
        if file not in told or received >= told[file] + 10_000_000 or received == total:
            told[file] = received
            size = f" of {total / 1e6:.1f}" if total else ""
            typer.echo(f"{file}: {received / 1e6:.1f}{size} MB", err=True)

    fetched = fetch_dataset(name, version, from_dir=source, progress=tell)
    typer.echo(f"{fetched.dataset.name} {fetched.version} is in {fetched.folder}")
    typer.echo(f"Licence: {fetched.dataset.licence}")
    typer.echo(f"Please cite: {fetched.dataset.citation}")


@app.command()
def build(
    name: str = typer.Argument(..., help="holisticbias, or evenhand for our own set."),
    output: Path = typer.Option(..., "--output", "-o", help="The file to write."),
    version: str | None = typer.Option(None, help="v1.0 or v1.1 (default)."),
    source: Path | None = typer.Option(
        None, "--from", help="Folder of the published files (else the cache)."
    ),
    as_published: bool = typer.Option(
        False, "--as-published", help="Byte for byte as the owners' code writes it, quirks included."
    ),
    style: str = typer.Option("csv", "--format", help="csv or parquet."),
) -> None:
    """Write the sentence set of a data set to a file."""
    from evenhand.reports.catalogue import build_sentences

    rows = build_sentences(
        name, output, version=version, source=source, as_published=as_published, style=style
    )
    typer.echo(f"{rows:,} sentences written to {output}")
