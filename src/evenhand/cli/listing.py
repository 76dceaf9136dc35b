"""`evenhand list KIND` and `evenhand show NAME`."""

import shlex

import typer

from evenhand.cli.completion import Kind, anything


def list_things(kind: Kind = typer.Argument(..., help="What to list.")) -> None:
    """List what is available: benchmarks, models, classifiers, mitigations, training methods, measures and more.

    \b
    Examples:
      evenhand list benchmarks
      evenhand list mitigations
    """
    from rich.console import Console

    from evenhand.catalogue import catalogue
    from evenhand.studies.audit import render_list

    render_list([(card.name, card.summary) for card in catalogue(kind).values()], Console())


def show(
    name: str = typer.Argument(..., help="Name from `evenhand list`.", autocompletion=anything),
) -> None:
    """Describe one benchmark, suite, model, classifier, mitigation, training method, measure or data set.

    \b
    Examples:
      evenhand show regard
      evenhand show vader
    """
    from rich.console import Console

    from evenhand.catalogue import catalogue
    from evenhand.classifiers import file_kind
    from evenhand.runs.remote import is_store_address
    from evenhand.schema import UsageError, is_folder, unknown_name
    from evenhand.studies.audit import render_card

    cards = [(kind, card) for kind in Kind for card in catalogue(kind).values()]
    # also in the form that --classifier accepts
    kind_of_file = file_kind(name.replace("people=", "people:", 1))
    known = name if kind_of_file is None else f"{kind_of_file}FILE"  # one card for all files of a kind
    matches = [(kind, card) for kind, card in cards if card.name == known]
    if not matches and (is_store_address(name) or is_folder(name)):
        raise UsageError(
            f"`evenhand show` describes benchmarks, models and other things by name, but {name} is a folder.",
            f"To show the results in it: evenhand report {shlex.quote(name)}",
        )
    if not matches:
        raise unknown_name("card", name, {card.name for _, card in cards})
    console = Console()
    for kind, card in matches:  # a benchmark and its data set may have the same name
        if len(matches) > 1:
            console.print(f"[dim]{kind.removesuffix('s')}[/dim]")
        render_card(card, console)
