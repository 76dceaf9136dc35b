"""The record of a study on disk: type of study, options that affect the result, and version."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from evenhand.schema import (
    DataError,
    UsageError,
    describe_occupied,
    is_file,
    is_folder,
    is_temporary,
    read_json,
    write_json,
)
from evenhand.study.options import problems

Options = TypeVar("Options", bound=BaseModel)
Compared = tuple[Mapping[str, Any], Mapping[str, Any]]
"""Two mappings of the options that affect the result: as stored, and as given now."""


@dataclass(frozen=True)
class StudyRecord:
    """The record file in the folder of one type of study.

    >>> RECORD = StudyRecord("survey.json", "survey", "options")
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> RECORD.begin(folder, {"options": {"seed": 0}}, lambda stored: (stored, {"seed": 0}))
    >>> RECORD.is_in(folder), RECORD.stored(folder)
    (True, {'seed': 0})
    """

    file: str
    called: str
    """Name of the type of study in messages, such as "consistency study"."""
    part: str
    """Key of the options in the file."""
    version: int = 1
    """Newest version of the format; earlier ones can be read, too."""

    @property
    def _one(self) -> str:
        return f"{'an' if self.called[0] in 'aeiou' else 'a'} {self.called}"

    def is_in(self, folder: Path) -> bool:
        """Return whether a folder contains such a study."""
        return is_file(folder / self.file)

    def stored(self, folder: Path) -> dict[str, Any]:
        """Return the options with which a study was started.

        Raises DataError if the record is missing or damaged, has no options or is of a newer version, or if the folder
        contains links to places outside it.
        """
        self._refuse_links(folder)
        where = folder / self.file
        content = read_json(where, f"Give the folder of {self._one}, or restore the file from a copy.")
        version = content.get("version") if isinstance(content, dict) else None
        if type(version) is not int or not 1 <= version <= self.version:
            raise DataError(
                f"{where} has format version {version}, but this evenhand reads versions up to {self.version}.",
                "It was written by a newer evenhand (update with `pip install --upgrade evenhand`), or changed by "
                "hand.",
            )
        options = content.get(self.part)
        if not isinstance(options, dict):
            raise DataError(
                f"{where} does not contain the {self.part} of {self._one}.",
                "The file was changed by hand or by another program. Restore it, or start again with -o.",
            )
        return options

    def valid(self, folder: Path, kind: type[Options], stored: Mapping[str, Any]) -> Options:
        """Return stored options as an object of the class `kind`.

        Raises a DataError that lists the options that are not valid in this version.
        """
        try:
            return kind.model_validate(dict(stored))
        except ValidationError as error:
            raise DataError(
                f"{folder / self.file} is not a valid record of {self._one} for this version of evenhand: "
                f"{problems(error)}.",
                "Resume with the version that started it, or start again with -o.",
            ) from error

    def begin(
        self,
        folder: Path,
        content: Mapping[str, Any],
        compared: Callable[[dict[str, Any]], Compared],
        *,
        renewed: bool = False,
    ) -> None:
        """Write the record of a new study, or check that a resumed study has the same options.

        Parameters
        ----------
        folder
            Folder of the study.
        content
            The record without the version. Its key `part` has the options.
        compared
            Function from the stored options to two mappings of the options that affect the result: as stored, and as
            given now.
        renewed
            Whether to rewrite the record of a resumed study.

        Raises
        ------
        UsageError
            The folder has other content.
        ResumeRefused
            The options differ; the message lists the differences.
        DataError
            The record cannot be read (see `stored`).
        WriteError
            The record cannot be written.
        """
        from evenhand.runs import refuse_differences  # not at the top, because `--help` does not need it

        begun = self.is_in(folder)
        if begun:
            noun = self.called.split()[-1]
            hint = f"Start another {noun} with -o, or remove the options that differ."
            refuse_differences(f"The {noun} {folder}", *compared(self.stored(folder)), hint)
        elif os.path.lexists(folder) and not self._is_empty(folder):
            raise UsageError(
                f"{folder} exists and is not the folder of {self._one}."
                if is_folder(folder)
                else f"{folder} {describe_occupied(folder)}.",
                "Choose another folder with -o.",
            )
        if renewed or not begun:
            write_json(folder / self.file, {"version": self.version, **content})

    def _refuse_links(self, folder: Path) -> None:
        """Raise DataError if the folder contains links, because resuming could overwrite files outside the folder."""
        whole = folder.resolve()
        for here, folders, files in os.walk(folder):
            for inner in (Path(here, name) for name in (*folders, *files)):
                there = Path(os.path.realpath(inner))
                if inner.is_symlink() and not there.is_relative_to(whole):
                    raise DataError(
                        f"{inner} is a link that leads out of {folder}, to {there}.",
                        "If you trust the target of the link, replace the link by the folder or file itself.",
                    )
                if not (inner.is_symlink() or inner.is_file() or inner.is_dir()):
                    raise DataError(
                        f"{folder} cannot be resumed: {inner} is a device, a pipe or a socket, which evenhand never "
                        "writes.",
                        f"Somebody else put it there. If you trust the other files in this folder, delete {inner} "
                        "and run the command again.",
                    )

    def _is_empty(self, folder: Path) -> bool:
        # A process that was killed while it wrote the record leaves a temporary file, which can be overwritten.
        return folder.is_dir() and all(map(is_temporary, folder.iterdir()))
