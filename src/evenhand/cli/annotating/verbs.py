"""The verbs behind `evenhand annotate`; a study file in the place of a verb is served."""

from typing import Any

import typer
from typer.core import TyperGroup

from evenhand.cli.annotating import analysing, checking, exporting, serving


class StudyFirst(TyperGroup):
    """`evenhand annotate STUDY.yaml` and `evenhand annotate --from RUN` are `evenhand annotate serve ...`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `serve` in front unless a verb or a request for help stands there."""
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = ["serve", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=StudyFirst,
    no_args_is_help=True,
    help="Put texts before people: serve a study, export what they said, analyse it.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("serve")(serving.serve)
app.command("check")(checking.check)
app.command("invite")(serving.invite)
app.command("account")(serving.account)
app.command("backup")(exporting.backup)
app.command("export")(exporting.export)
app.command("analyse")(analysing.analyse)
