"""`evenhand annotate STUDY.yaml`, and what prepares it: invite, account."""

from pathlib import Path

import typer


def serve(
    study: Path | None = typer.Argument(None, metavar="STUDY.yaml", help="The study file."),
    from_: list[str] = typer.Option(
        [], "--from", metavar="RUN", help="Make a study of a run or a file; repeatable."
    ),
    template: str | None = typer.Option(None, help="acute, regard, robbie, redditbias or labels."),
    output: Path | None = typer.Option(
        None, "--output", "-o", metavar="STUDY.yaml", help="Where the study made goes."
    ),
    database: str | None = typer.Option(None, help="A file, or postgresql://... Default: beside the study."),
    address: str | None = typer.Option(
        None, help="Where people reach it, such as https://judge.example.org."
    ),
    host: str = typer.Option("127.0.0.1", help="Which interface to listen on."),
    port: int = typer.Option(8000, help="Which port."),
    proxied: bool = typer.Option(False, "--proxied", help="Believe X-Forwarded-* of a proxy in front."),
    no_serve: bool = typer.Option(False, "--no-serve", help="Make the study and its database, and stop."),
) -> None:
    """Serve a study until Ctrl-C."""
    raise NotImplementedError


def invite(study: str = typer.Argument(..., metavar="STUDY")) -> None:
    """Print new links that let people in."""
    raise NotImplementedError


def account(study: str = typer.Argument(..., metavar="STUDY"), name: str = typer.Argument("admin")) -> None:
    """Set the password of an admin."""
    raise NotImplementedError
