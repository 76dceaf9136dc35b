"""`evenhand list KIND` and `evenhand show NAME`."""

import typer

from evenhand.cli.completion import Kind, anything


def list_things(kind: Kind = typer.Argument(..., help="What to list.")) -> None:
    """List benchmarks, models, classifiers, mitigations, training methods, measures, ..., one line each."""
    from rich.console import Console

    from evenhand.catalogue import catalogue
    from evenhand.studies.audit import render_list

    render_list([(card.name, card.summary) for card in catalogue(kind).values()], Console())


def show(
    name: str = typer.Argument(..., help="A name that `evenhand list` shows.", autocompletion=anything),
) -> None:
    """Print the card of a benchmark, suite, model, classifier, mitigation, training method, measure or data set."""
    from rich.console import Console

    from evenhand.catalogue import catalogue
    from evenhand.schema import unknown_name
    from evenhand.studies.audit import render_card

    cards = [(kind, card) for kind in Kind for card in catalogue(kind).values()]
    matches = [(kind, card) for kind, card in cards if card.name == name]
    if not matches:
        raise unknown_name("card", name, {card.name for _, card in cards})
    console = Console()
    for kind, card in matches:  # a benchmark and its data set may share a name
        if len(matches) > 1:
            console.print(f"[dim]{kind.removesuffix('s')}[/dim]")
        render_card(card, console)
