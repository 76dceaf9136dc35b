"""The verbs of `evenhand annotate`; a study file in place of a verb is served."""

import re
from typing import Any

from typer.core import TyperGroup

from evenhand.cli.annotating import analysing, checking, exporting, serving
from evenhand.cli.common import App
from evenhand.schema import UsageError, unknown_name

HELP = """Run human evaluations: serve a study, export judgements, analyse them.

\b
Examples:
evenhand annotate STUDY.yaml           serve a study until Ctrl-C
evenhand annotate --from RUN --template acute -o STUDY.yaml
                                       create a study from a run or a file, and serve it
evenhand annotate ... --no-serve       create its database, then exit

Options such as --address, --port and --limit: evenhand annotate serve --help
"""
A_WORD = re.compile(r"[\w-]+")
"""Pattern of words that are meant as a command: a file has a suffix, and a URL has a colon."""


class StudyFirst(TyperGroup):
    """`evenhand annotate STUDY.yaml` and `evenhand annotate --from RUN` are `evenhand annotate serve ...`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert `serve` unless the arguments begin with a verb or a help flag. Raises UsageError for another word."""
        if args and args[0] not in self.commands and A_WORD.fullmatch(args[0]) and args[0][0] != "-":
            wrong = unknown_name("verb", args[0], self.commands)
            raise UsageError(wrong.message, f"{wrong.hint} To serve a study: evenhand annotate STUDY.yaml")
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = ["serve", *args]
        return super().parse_args(ctx, args)


app = App(
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
