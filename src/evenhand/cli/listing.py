"""`evenhand list KIND` and `evenhand show NAME`."""

from enum import StrEnum

import typer


class Kind(StrEnum):
    BENCHMARKS = "benchmarks"
    SUITES = "suites"
    MODELS = "models"
    MEASURES = "measures"
    DATASETS = "datasets"


def list_things(kind: Kind = typer.Argument(..., help="What to list.")) -> None:
    """List benchmarks, suites, models, measures or data sets, one line each."""
    from rich.console import Console

    from evenhand.reports.catalogue import catalogue
    from evenhand.reports.terminal import render_list

    render_list([(card.name, card.summary) for card in catalogue(kind).values()], Console())


def show(name: str = typer.Argument(..., help="A name that `evenhand list` shows.")) -> None:
    """Print the card of a benchmark, suite, model, measure or data set."""
    from rich.console import Console

    from evenhand.reports.catalogue import catalogue
    from evenhand.reports.terminal import render_card
    from evenhand.schema.errors import unknown_name

    known = {}
    for kind in Kind:
        known.update(catalogue(kind))
    if name not in known:
        raise unknown_name("card", name, known)
    render_card(known[name], Console())
