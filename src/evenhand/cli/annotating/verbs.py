"""The verbs behind `evenhand annotate`; a study file in the place of a verb is served."""

import re
from typing import Any

import typer
from typer.core import TyperGroup

from evenhand.cli.annotating import analysing, checking, exporting, serving
from evenhand.schema import UsageError, unknown_name

HELP = """Put texts before people: serve a study, export what they said, analyse it.

\b
evenhand annotate STUDY.yaml           serves a study until Ctrl-C
evenhand annotate --from RUN --template acute -o STUDY.yaml
                                       makes one of a run or a file, serves it
evenhand annotate ... --no-serve       makes its database, and stops

What else may stand there, such as --address, --port and --limit: evenhand annotate serve --help
"""
A_WORD = re.compile(r"[\w-]+")
"""What is meant for a verb: a file has an ending, an address a colon."""


class StudyFirst(TyperGroup):
    """`evenhand annotate STUDY.yaml` and `evenhand annotate --from RUN` are `evenhand annotate serve ...`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `serve` in front unless a verb or a request for help stands there. Raises UsageError for another word."""
        if args and args[0] not in self.commands and A_WORD.fullmatch(args[0]) and args[0][0] != "-":
            wrong = unknown_name("verb", args[0], self.commands)
            raise UsageError(wrong.message, f"{wrong.hint} To serve a study: evenhand annotate STUDY.yaml")
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = ["serve", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=StudyFirst,
    no_args_is_help=True,
    help=HELP,
    subcommand_metavar="STUDY.yaml | --from RUN | COMMAND ...",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("serve")(serving.serve)
app.command("check")(checking.check)
app.command("invite")(serving.invite)
app.command("account")(serving.account)
app.command("backup")(exporting.backup)
app.command("export")(exporting.export)
app.command("analyse")(analysing.analyse)
