"""`evenhand report`: the page of a finished run, a picture for slides, and text for a model card."""

from pathlib import Path

import typer

from evenhand.cli.common import say, shown_place, writable


def report(
    folder: str = typer.Argument(
        ...,
        metavar="RUN",
        help="Folder of an audit, a measured file, a comparison or a before-after study; or the S3 URL of an "
        "audit (s3://bucket/run).",
    ),
    png: Path | None = typer.Option(
        None,
        help="Write the forest plot as a picture of 1600 x 900 pixels. Requires pip install "
        "'evenhand\\[pictures]'.",
    ),
    svg: Path | None = typer.Option(None, help="Write the forest plot as SVG. Requires no other package."),
    benchmark: str | None = typer.Option(
        None, help="Benchmark to show in the picture. Default: the first benchmark with a biased axis."
    ),
    model_card: str | None = typer.Option(
        None,
        "--model-card",
        metavar="FILE",
        help="Write a section for the model card on the Hugging Face Hub: model-index YAML and Markdown. Use - to "
        "print it.",
    ),
) -> None:
    """Show a finished run again: report, picture for slides, snippet for a model card.

    Without flags, the report and the numbers of an audit are written again in the format of this version. The
    model and the classifiers are not run again.

    \b
    Examples:
      evenhand report runs/gpt2
      evenhand report runs/gpt2 --svg gpt2.svg
      evenhand report runs/gpt2 --model-card -
    """
    from evenhand.reports import write_picture
    from evenhand.schema import UsageError, write_text
    from evenhand.studies import model_card as card_of, open_result, picture_of

    for flag, file, ending in (("--png", png, ".png"), ("--svg", svg, ".svg")):
        if file is not None and writable(flag, file).suffix.lower() != ending:
            raise UsageError(
                f"`{flag}` writes {ending} files, got {file.name!r}.",
                f"Change the name of the file: {flag} {file.with_suffix(ending).name}",
            )
    if benchmark is not None and png is None and svg is None:
        raise UsageError(
            "`--benchmark` selects the benchmark of the picture, but no picture was requested.",
            "Add --png FILE or --svg FILE, or remove --benchmark.",
        )
    to_file = model_card is not None and model_card != "-"
    if to_file:
        writable("--model-card", str(model_card))
    found = open_result(folder)
    if model_card is not None:
        text = card_of(found.content)
        if to_file:
            say(f"model card: {write_text(str(model_card), text)}")
        else:
            typer.echo(text, nl=False)
    for file in (png, svg):
        if file is not None:
            say(f"picture: {write_picture(picture_of(found.content, benchmark), file)}")
    if model_card is None and png is None and svg is None:
        page = found.page()
        say(f"report: {page if found.run is None else shown_place(found.run, page)}")
