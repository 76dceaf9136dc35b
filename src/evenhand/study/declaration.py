"""`Study`: one declaration of a study, from which its verb, its Python function and its record are made.

The modules of a study are imported only when they are needed, so that `--help` is fast.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from evenhand.runs import Progress
    from evenhand.study.resuming import StudyOptions


class Result(Protocol):
    """Protocol of the result of a study."""

    @property
    def path(self) -> Path:
        """Return the folder of the study."""

    @property
    def paths(self) -> dict[str, Path]:
        """Return the files that `report` writes, by kind."""

    def report(self) -> Path:
        """Write the page and the numbers."""


OptionsType = TypeVar("OptionsType", bound="StudyOptions")
ResultType = TypeVar("ResultType", bound=Result)


@dataclass(frozen=True)
class Call:
    """Everything that a study receives in addition to its options.

    Attributes
    ----------
    output
        Folder of the study; None: a new one.
    progress
        Receives progress messages.
    given
        The options that the user gave, for the record.
    loaded
        Objects that replace the names in options, such as a loaded model, by option.
    """

    output: Path | None = None
    progress: "Progress | None" = None
    given: Mapping[str, Any] = field(default_factory=dict)
    loaded: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Output:
    """Description of the flag `--output` of a study.

    Attributes
    ----------
    help
        The help of the flag.
    default
        Default path. None: a new folder in runs/.
    is_file
        True if the study writes one file (and a page only on request) instead of a folder.
    needed
        True if the user must give the flag.
    """

    help: str = "Folder for the study. Default: a new folder in runs/."
    default: Path | None = None
    is_file: bool = False
    needed: bool = False


@dataclass(frozen=True)
class Study(Generic[OptionsType, ResultType]):
    """A study, declared once.

    Attributes
    ----------
    verb
        The command, such as "study names".
    argument
        The option that is the command's positional argument. The folder of a study in its place resumes that study.
    argument_help
        The help of the argument.
    help
        The help of the command: a summary, paragraphs and examples.
    options
        Returns the options class.
    perform
        Returns the function that runs the study, or resumes it, with options and a `Call`.
    plan
        Returns the function that prints what would be run, for `--plan`; None if the study has no such flag. The help
        of the flag is `plan_help`.
    output
        Description of `--output`.
    settings_help
        The help of `--set`.
    page_hint
        What to do after an interruption while the page is written.
    shown
        Returns the files that the command lists at the end, by kind.
    """

    verb: str
    argument: str
    argument_help: str
    help: str
    options: Callable[[], type[OptionsType]]
    perform: Callable[[], Callable[[OptionsType, Call], ResultType]]
    plan: Callable[[], Callable[[OptionsType], None]] | None = None
    plan_help: str = ""
    output: Output = Output()
    settings_help: str = "Set any option by name, as in a YAML file. Repeatable."
    page_hint: str = "Resume with: evenhand {verb} {path}"
    shown: Callable[[ResultType], dict[str, Path]] = lambda result: {
        "study": result.path,
        "report": result.paths["report"],
    }

    def run(
        self,
        given: Mapping[str, Any],
        output: Path | str | None = None,
        progress: "Progress | None" = None,
        **others: Any,
    ) -> ResultType:
        """Run the study for a call from Python. Options may be loaded objects in place of names.

        None and empty collections mean that an option is not given. A study in the folder `output` is resumed. `others`
        are passed to the study in `Call.loaded`.
        """
        from evenhand.study.values import split_loaded

        kind, folder = self.options(), None if output is None else Path(output)
        named, loaded = split_loaded(kind, given)
        options = kind.read(named, folder)
        return self.conduct(
            options, output=folder, progress=progress, given=kind.prepare(named), **others, **loaded
        )

    def conduct(
        self,
        options: OptionsType,
        *,
        output: Path | None = None,
        progress: "Progress | None" = None,
        given: Mapping[str, Any] | None = None,
        **loaded: Any,
    ) -> ResultType:
        """Run the study with options, or resume it, and write its page. `loaded`: objects that replace names."""
        from evenhand.runs import resumable

        result = self.perform()(options, Call(output, progress, given or {}, loaded))
        if self.output.is_file:
            return result
        with resumable(self.page_hint.format(verb=self.verb, path=result.path)):
            result.report()
        return result
