"""The command `evenhand`: subcommands, exit codes, and the display of errors.

No large package is imported here, so that `evenhand --help` responds at once.
"""

import os
import shlex
import sys
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from evenhand.cli import (
    audit as audit_verb,
    before_after as before_after_verb,
    calibrate as calibrate_verb,
    compare as compare_verb,
    data as data_verbs,
    frequencies as frequencies_verb,
    listing as listing_verbs,
    measure as measure_verb,
    push as push_verb,
)
from evenhand.cli.annotating import app as annotate_verbs
from evenhand.cli.common import App
from evenhand.cli.finished import agreement, report, rescore
from evenhand.cli.mitigating import search_instruction
from evenhand.cli.panels import VERBS
from evenhand.cli.study_commands import StudyCommand
from evenhand.schema import EvenhandError, UsageError
from evenhand.studies.consistency import CONSISTENCY
from evenhand.studies.debias import DEBIAS
from evenhand.studies.names import NAMES
from evenhand.studies.redditbias import REDDITBIAS
from evenhand.studies.search_trigger import TRIGGER

EXIT_CODES = (
    "Exit codes: 0 success (finding bias is not an error), 1 failure, 2 invalid command line or configuration, 3 "
    "finished, but too many rows or documents failed (--error-threshold), or every trial of `evenhand debias "
    "--search` exceeded --guard, 4 gate failed (--fail-if or --require-power), 130 interrupted (run the same command "
    "on the run folder to resume)."
)

START = """Measure and reduce social bias in language models. Three ways to begin:

  Audit a model:   evenhand audit evenhand/reference
  Measure a file:  evenhand measure my.csv --column who=group --column pay=score
  Compare runs:    evenhand compare runs/before runs/after

evenhand/reference is a small built-in model that needs no GPU and no network.
Replace the names of the file, its columns and the run folders by your own.
All commands: evenhand --help"""

MOST_TOLD = 2000
"""Maximum number of characters of an error message, because a name in it can have any length."""

RENAMED = {"check": "check-consistency", "revise": "search-instruction"}
"""New names of commands by their old names, which users misunderstood."""


STUDIES = (CONSISTENCY, DEBIAS, NAMES, REDDITBIAS, TRIGGER)
"""Declared studies: each is a command."""


class Verbs(TyperGroup):
    """Group of commands that the help shows in panels. A renamed command is refused with its new name."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        """Create the group; arguments as for `typer.core.TyperGroup`."""
        super().__init__(*arguments, **settings)
        for study in STUDIES:
            if " " not in study.verb:
                self.commands[study.verb] = StudyCommand(
                    study, epilog=None if study.output.is_file else EXIT_CODES
                )
        for panel, verbs in VERBS.items():
            for verb in verbs:
                self.commands[verb].rich_help_panel = panel  # type: ignore[attr-defined]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line; without arguments, show how to begin and exit with code 2."""
        if not args and not ctx.resilient_parsing:
            typer.echo(START)
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the verbs in the order of the panels."""
        return [verb for verbs in VERBS.values() for verb in verbs]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command with a name, or None. Raise UsageError for an old name."""
        if cmd_name in RENAMED:
            raise UsageError(
                f"`evenhand {cmd_name}` was renamed to `evenhand {RENAMED[cmd_name]}`.",
                "Use the new name. Options and folders of earlier studies did not change.",
            )
        return super().get_command(ctx, cmd_name)


class PaperStudies(TyperGroup):
    """Group of the commands of `evenhand study`."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        """Create the group; arguments as for `typer.core.TyperGroup`."""
        super().__init__(*arguments, **settings)
        studies = [study for study in STUDIES if study.verb.startswith("study ")]
        self.commands.update({study.verb.split()[-1]: StudyCommand(study) for study in studies})


study_verbs = App(
    cls=PaperStudies,
    help="Run a paper's full study on your models: names, redditbias.",
    no_args_is_help=True,
)
app = App(
    name="evenhand",
    cls=Verbs,
    help="Measure and reduce social bias in language models. Start here: evenhand audit evenhand/reference (a "
    "small built-in model that needs no GPU and no network).",
    epilog=EXIT_CODES,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from evenhand.schema import VERSION

        typer.echo(f"evenhand {VERSION}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    pass


app.command("audit", epilog=EXIT_CODES)(audit_verb.audit)
app.command("measure", epilog=EXIT_CODES)(measure_verb.measure)
app.command("report")(report)
app.command("rescore", epilog=EXIT_CODES)(rescore)
app.command("agreement")(agreement)
app.command("compare", epilog=EXIT_CODES)(compare_verb.compare)
app.command("before-after", epilog=EXIT_CODES)(before_after_verb.before_after)
app.command("calibrate", epilog=EXIT_CODES)(calibrate_verb.calibrate)
app.command("search-instruction", epilog=EXIT_CODES)(search_instruction)
app.command("frequencies", epilog=EXIT_CODES)(frequencies_verb.frequencies)
app.command("push")(push_verb.push)
app.command("list")(listing_verbs.list_things)
app.command("show")(listing_verbs.show)
app.add_typer(study_verbs, name="study")
app.add_typer(annotate_verbs, name="annotate")
app.add_typer(data_verbs.app, name="data")


def _check_encoding(words: Sequence[str]) -> None:
    """Raise UsageError for bytes that are not UTF-8, which no manifest could store."""
    if all(word.isascii() for word in words):
        return
    from evenhand.schema import without_surrogates  # it imports much that --help does not need

    for number, word in enumerate(words, 1):
        if without_surrogates(word) != word:
            raise UsageError(
                f"Argument {number} of the command line, {word[:80]!a}, is not valid UTF-8.",
                "Rename the file or folder, or use a UTF-8 locale.",
            )


WRITTEN = ("--junit", "--summary", "--report", "--png", "--svg", "--model-card")
"""Flags that name an output file."""


def _check_outputs(words: Sequence[str]) -> None:
    """Raise UsageError if an output file is also an input on the same command line, because it would be replaced."""
    split = [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]
    for place, word in enumerate(split[:-1]):
        if word not in WRITTEN or split[place + 1] == "-":
            continue
        file = os.path.realpath(split[place + 1])
        others = [other for other in (*split[:place], *split[place + 2 :]) if not other.startswith("-")]
        if any(os.path.realpath(other) == file for other in others):
            raise UsageError(
                f"{word} {split[place + 1]} would overwrite another file that this command reads or writes.",
                f"Give another file for {word}.",
            )


ON_STORES = ("audit", "report", "rescore", "compare", "agreement", "frequencies")
"""Commands that accept the URL of object storage (s3://bucket/run)."""
WRITTEN_TO_STORES = ("audit", "frequencies")
"""Commands that accept such a URL for -o."""


def _check_stores(words: Sequence[str]) -> None:
    """Raise UsageError for the URL of object storage if the command would read it as a local path."""
    from evenhand.runs.remote import is_store_address

    verb = words[0] if words else ""
    if verb == "push":  # has separate URLs
        return
    for place, word in enumerate(words):
        flag, joined, value = word.partition("=") if word.startswith("-") else ("", "", word)
        if not is_store_address(value if joined or not flag else word):
            continue
        flag = flag or (words[place - 1] if place else "")
        if verb not in ON_STORES or flag in WRITTEN:
            what = f"{flag} of evenhand {verb}" if flag in WRITTEN else f"evenhand {verb}"
            raise UsageError(
                f"{what} requires a local folder, but {word} is a URL of object storage.",
                f"Commands that support object storage: {', '.join(ON_STORES)}.",
            )
        if flag in ("-o", "--output") and verb not in WRITTEN_TO_STORES:
            raise UsageError(
                f"evenhand {verb} writes to a local folder, but {word} is a URL of object storage.",
                "Give a local folder, and copy it to object storage afterwards.",
            )


ONCE = {"--method": ("--method", "-m")}
"""Spellings of a flag that completes a command and cannot be repeated."""


def completed_command(words: Sequence[str], flags: Sequence[str], replaced: Collection[str]) -> str:
    """Return a command line with added options, quoted for a shell.

    words: the command without `evenhand`. flags: a flag and its value, which are added. replaced: values of the same
    flag that are removed.

    A flag of `ONCE` cannot be repeated, so every value of it is removed.

    >>> completed_command(["audit", "gpt2", "--classifier=x"], ["--classifier", "regard=vader"], ["x"])
    'evenhand audit gpt2 --classifier regard=vader'
    >>> completed_command(["debias", "gpt2", "-m", "control-gender"], ["--method", "lmd"], [])
    'evenhand debias gpt2 --method lmd'
    """
    kept: list[str] = []
    spellings = ONCE.get(flags[0], (flags[0],))
    for word in words:
        if word in [f"{flags[0]}={value}" for value in replaced]:
            continue
        if flags[0] in ONCE and word.startswith(f"{flags[0]}="):
            continue
        if (flags[0] in ONCE or word in replaced) and kept[-1:] and kept[-1] in spellings:
            kept.pop()
            continue
        kept.append(word)
    return shlex.join(["evenhand", *kept, *flags])


def _is_working_folder_there() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True


@cache
def _command() -> Any:
    """Return the command line as one Click command, which takes longer to build than most commands to run."""
    return typer.main.get_command(app)


def main() -> None:
    """Run the command line; every EvenhandError becomes one readable message and its exit code."""
    # read when torch is first imported: waiting threads sleep instead of spinning, which is several times faster on a
    # shared machine and not slower on a free one
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # read when numpy is first imported: matrices are small here, and threads cost more than they save, especially on a
    # shared machine
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # without a network, the hub's client reports each attempt; our own error gives advice
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")
    try:
        _check_encoding(sys.argv[1:])
        _check_outputs(sys.argv[1:])
        _check_stores(sys.argv[1:])
        _command()(prog_name="evenhand")  # the same name if it is started as a module
    except EvenhandError as error:
        from evenhand.reports.wording import visible, without_commands

        label = "interrupted" if error.exit_code == 130 else "error"
        typer.secho(f"{label}: ", err=True, nl=False, bold=True, fg=typer.colors.RED)
        # names in it may come from another person's file
        for told in filter(None, (error.message, error.hint)):
            more = f" ... ({len(told) - MOST_TOLD:,} more characters)" if len(told) > MOST_TOLD else ""
            typer.echo(without_commands(visible(told[:MOST_TOLD]).replace("\r", " ")) + more, err=True)
        if error.flags:
            command = completed_command(sys.argv[1:], error.flags, error.replaced)
            typer.echo(f"For example:\n  {without_commands(visible(command))}", err=True)
        sys.exit(error.exit_code)
    except SystemExit as ended:
        if ended.code == 130:  # typer ends in this way, without a message, after a KeyboardInterrupt
            raise KeyboardInterrupt from ended
        if isinstance(ended.__context__, BrokenPipeError):  # rich and typer exit with 1 in the cases below
            sys.exit(0)
        raise
    except FileNotFoundError:
        if _is_working_folder_there():
            raise
        typer.echo(
            "error: The working directory no longer exists: it was moved or removed.\nChange to another "
            "directory.",
            err=True,
        )
        sys.exit(1)
    except BrokenPipeError:  # the reader (head, less) stopped reading
        sys.stderr.close()
        sys.exit(0)
