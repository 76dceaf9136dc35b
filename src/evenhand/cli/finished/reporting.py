"""`evenhand report`: the page of a run anew, a picture for slides, and what a model card says of it."""

from pathlib import Path

import typer

from evenhand.cli.common import say, shown_place, writable


def report(
    folder: str = typer.Argument(
        ...,
        metavar="RUN",
        help="The folder of an audit, a measured file, a comparison or a before-after study; or the address "
        "of an audit on a store (s3://bucket/run).",
    ),
    png: Path | None = typer.Option(
        None, help="Write the forest plot as a picture of 1600 x 900 (pip install 'evenhand\\[pictures]')."
    ),
    svg: Path | None = typer.Option(None, help="Write the forest plot as SVG, which needs nothing else."),
    benchmark: str | None = typer.Option(
        None, help="Which benchmark the picture shows; by default the first in which something was found."
    ),
    model_card: str | None = typer.Option(
        None,
        "--model-card",
        metavar="FILE",
        help="Write what a model card on the Hugging Face hub says of it: model-index YAML and Markdown; - prints it.",
    ),
) -> None:
    """Show a finished run again: its page, a picture for slides, a snippet for a model card.

    Without flags the page and the numbers of an audit are written anew, as this version writes them. Nothing is asked
    and nothing is judged again.
    """
    from evenhand.reports import write_picture
    from evenhand.schema import UsageError, write_text
    from evenhand.studies import model_card as card_of, open_result, picture_of

    for flag, file, ending in (("--png", png, ".png"), ("--svg", svg, ".svg")):
        if file is not None and writable(flag, file).suffix.lower() != ending:
            raise UsageError(
                f"{flag} writes {ending}, not {file.name!r}.", f"{flag} {file.with_suffix(ending).name}"
            )
    if benchmark is not None and png is None and svg is None:
        raise UsageError("--benchmark says which picture is drawn.", "Name the file with --png or --svg.")
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
