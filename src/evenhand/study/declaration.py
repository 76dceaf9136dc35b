"""`Study`: one declaration of a study, from which its verb, its Python function and its record are made.

Nothing of a study is imported until it is needed, so that the help of the program is shown at once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from evenhand.runs import Progress
    from evenhand.study.resuming import StudyOptions


class Result(Protocol):
    """What a study returns."""

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
    """What a study gets next to its options.

    Attributes
    ----------
    output
        Folder of the study; None: a new one.
    progress
        Receives progress messages.
    given
        The options that the user gave, for the record.
    loaded
        Objects that the user gave in place of names, such as a model, by option.
    """

    output: Path | None = None
    progress: "Progress | None" = None
    given: Mapping[str, Any] = field(default_factory=dict)
    loaded: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Output:
    """What `--output` of a study is.

    Attributes
    ----------
    help
        The help of the flag.
    default
        Where a study is written; None: into a new folder in runs/.
    is_file
        True if the study writes one file, and a page only if it is asked for.
    needed
        True if it must be given.
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
        Its command, such as "study names".
    argument
        The option that the command takes without a flag. In its place, the folder of a study resumes that study.
    argument_help
        The help of the argument.
    help
        The help of the command: a summary, paragraphs and examples.
    options
        Returns the options class.
    perform
        Returns the function that runs the study, or resumes it, with options and a `Call`.
    plan
        Returns the function that prints what would be run; None if the study has none. Its flag has the help
        `plan_help`.
    output
        What `--output` is.
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
        """Run the study as Python calls it: with options, or loaded objects in place of names.

        None and empty collections mean that an option is not given. A study in the folder `output` is resumed. `others`
        reach the study in `Call.loaded`.
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
