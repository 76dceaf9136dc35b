"""The commands of declared studies. Their flags are made when a command is used, from the options of its study."""

import inspect
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand.cli import gating
from evenhand.cli.common import App, Command, end, join_lines, progress, say, show, writable
from evenhand.cli.model_flags import TrustAddresses
from evenhand.schema import EvenhandError
from evenhand.study import Study

Config = Annotated[Path | None, typer.Option("--config", "-c", help="Read options from a YAML file.")]


class StudyCommand(Command):
    """The command of a study, which imports the study when it is used, not when the help lists it."""

    def __init__(self, study: Study[Any, Any], epilog: str | None = None) -> None:
        """Create the command with the help of its study."""
        self._study = study
        super().__init__(study.verb.split()[-1], help=join_lines(study.help), epilog=epilog)

    @cached_property
    def _command(self) -> Any:
        """The command that typer makes of a function with a parameter for each option."""

        def verb(context: typer.Context, **flags: Any) -> None:
            shown = [name for name in flags if _is_default(context, name)]
            run_study(self._study, flags, shown)

        keyword = inspect.Parameter.KEYWORD_ONLY
        first = inspect.Parameter("context", keyword, annotation=typer.Context)
        verb.__signature__ = inspect.Signature([first, *_parameters(self._study)])  # type: ignore[attr-defined]
        app = App(add_completion=False)
        app.command(self.name)(verb)
        return typer.main.get_command(app)

    @property
    def params(self) -> list[Any]:
        """The arguments and flags."""
        made: list[Any] = self._command.params
        return made

    @params.setter
    def params(self, value: Any) -> None:
        pass  # the base class sets an empty list

    @property
    def callback(self) -> Any:
        """The function that runs the study with the values of the flags."""
        return self._command.callback

    @callback.setter
    def callback(self, value: Any) -> None:
        pass


def _is_default(context: typer.Context, name: str) -> bool:
    """Return whether a flag has the default that its help shows, which a file of options may replace."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "DEFAULT"


def run_study(study: Study[Any, Any], flags: Mapping[str, Any], defaults: Collection[str] = ()) -> None:
    """Run a study with the values of its flags, show its result, and exit with its code.

    defaults: flags that were not given.
    """
    from evenhand.runs import resumable
    from evenhand.study import assign, read_flags, read_options_file

    kind = study.options()
    ours = {name: flags[name] for name in flags if name not in kind.model_fields}
    named: dict[str, Any] = {}
    for setting in ours["settings"]:
        assign(named, setting)
    named |= read_flags(
        kind, {name: value for name, value in flags.items() if name not in {*ours, *defaults}}
    )
    file, output, trusted = ours["config"], ours["output"], ours["trust_addresses"]
    given = {**(read_options_file(file) if file else {}), **named}
    if kind.has_record(folder := Path(given[study.argument])):
        given = {name: value for name, value in given.items() if name != study.argument}
        options, output = kind.resume(folder, given, trust_addresses=trusted), folder
    else:
        options = kind.read(given, output)
    if study.output.is_file:
        writable("--output", output)
    if file:
        options.refuse_untrusted(file, named, trusted=trusted)
    if study.plan is not None and ours["plan"]:
        study.plan()(options)
        return
    try:
        result = study.conduct(options, output=output, given=kind.prepare(given), progress=progress())
    except EvenhandError as stop:
        if (
            shown := getattr(stop, "shown", None)
        ) is not None:  # a result that is an error, such as a failed search
            show(shown, shown.paths)
        raise
    if study.output.is_file:
        show(result)
        say(f"Written to {result.path}")
        return
    with resumable(study.page_hint.format(verb=study.verb, path=result.path)):
        show(result, study.shown(result))
    if study.verb in gating.KINDS:
        gating.hold(result, *(ours[name] for name in gating.GATE))
    end(getattr(result, "above_threshold", None))


def _parameters(study: Study[Any, Any]) -> list[inspect.Parameter]:
    """Return the parameters of a study's command: its options, then those that are not options of a study."""
    from evenhand.study import verb_parameters

    kind = study.options()
    others: dict[str, Any] = {
        "trust_addresses": (TrustAddresses, False),
        "output": (
            Annotated[Path | None, typer.Option("--output", "-o", help=study.output.help)],
            ... if study.output.needed else study.output.default,
        ),
        "config": (Config, None),
        "settings": (Annotated[list[str], typer.Option("--set", help=study.settings_help)], []),
    }
    if study.plan is not None:
        others["plan"] = (Annotated[bool, typer.Option("--plan", help=study.plan_help)], False)
    if study.verb in gating.KINDS:
        gate = (gating.FailIf, gating.RequirePower, gating.JUnit, gating.Summary)
        others |= {name: (flag, None) for name, flag in zip(gating.GATE, gate, strict=True)}
    return verb_parameters(
        kind,
        study.argument,
        study.argument_help,
        {
            name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=flag)
            for name, (flag, default) in others.items()
        },
        needed=kind.RECORD is None,
    )
