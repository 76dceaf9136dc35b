"""`StudyOptions`: options of a study that keeps a folder, and the rules to resume it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from evenhand.schema import VERSION, UsageError
from evenhand.study.fields import select_fields
from evenhand.study.options import Options, name_options, validate_options
from evenhand.study.record import Compared, StudyRecord
from evenhand.study.values import drop_missing


class StudyOptions(Options):
    """Options of a study. Each field defines a flag, a Python argument, and a key in option files and the record.

    The docstring of a field is its help. `Flag` in its annotation states how it is spelled, and whether it may change
    when the study is resumed.
    """

    RECORD: ClassVar[StudyRecord | None] = None
    """The record in the folder of the study; None if the study cannot be resumed by its folder."""
    EARLIER: ClassVar[Mapping[str, Any]] = {}
    """Values for studies that were started before these options existed."""
    HIDDEN: ClassVar[tuple[str, ...]] = ()
    """Options that have no flag. They can be set in a file, by `--set` and in Python."""
    FIXED: ClassVar[str] = ""
    """Hint of the error for a fixed option that is given with the folder of a study. Empty: an equal value is accepted.
    """

    @classmethod
    def prepare(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options that the user gave, without those that are None or empty."""
        return drop_missing(given)

    @classmethod
    def read(cls, given: Mapping[str, Any], folder: Path | None = None) -> Self:
        """Return the options of a study (None and empty mean not given); raises UsageError for invalid ones.

        folder: folder of the study, which may not exist yet.
        """
        return validate_options(cls, cls.prepare(given))

    @classmethod
    def has_record(cls, folder: Path) -> bool:
        """Return whether a folder contains such a study."""
        return cls.RECORD is not None and cls.RECORD.is_in(folder)

    @classmethod
    def read_stored(cls, folder: Path, content: Mapping[str, Any] | None = None) -> Self:
        """Return the options with which a study was started; raises DataError if its record cannot be read."""
        assert cls.RECORD is not None
        return cls.RECORD.valid(
            folder, cls, {**cls.EARLIER, **(cls.RECORD.stored(folder) if content is None else content)}
        )

    @classmethod
    def resume(cls, folder: Path, given: Mapping[str, Any], *, trust_addresses: bool = False) -> Self:
        """Return the options of a study on disk, updated with given ones (None and empty mean not given).

        Raises UsageError for options that cannot change, DataError for an unreadable record, and the errors of
        `refuse_untrusted`.
        """
        given, stored = cls.prepare(given), cls.read_stored(folder)
        free = select_fields(cls, "free", "again", "more")
        if cls.FIXED and (fixed := [name for name in given if name not in free]):
            noun = cls.RECORD.called.split()[-1] if cls.RECORD else "study"
            raise UsageError(
                f"{folder} is an existing {noun}, so {name_options(fixed)} cannot be changed.", cls.FIXED
            )
        options = stored.update(given, folder)
        options.refuse_untrusted(folder, given, trusted=trust_addresses)
        return options

    def refuse_untrusted(self, where: Path, given: Mapping[str, Any], *, trusted: bool) -> None:
        """Raise ResumeRefused for code, servers and files that only a folder or a file of options names.

        where: the folder or file. given: options that the user gave now. trusted: whether the user trusts its servers
        and files.
        """
        from evenhand.study.trust import check_addresses, check_code, find_files

        for name in select_fields(type(self), "again"):
            check_code(where, bool(getattr(self, name)), bool(given.get(name)))
        check_addresses(
            where,
            self.servers(),
            mitigations=self.mitigations(),
            files=find_files(self.model_dump(), list(given)),
            named=[word for value in self.prepare(given).values() for word in _words(value)],
            trusted=trusted,
        )

    def update(self, given: Mapping[str, Any], folder: Path) -> Self:
        """Return the options with given values in place of these."""
        return validate_options(type(self), {**self.model_dump(), **given})

    def begin(self, folder: Path, *, renewed: bool = True, **content: Any) -> None:
        """Write the record of a new study, or check that a resumed study has the same fixed options.

        content: further entries of the record. renewed: whether to rewrite the record of a resumed study.
        Raises the errors of `StudyRecord.begin`.
        """

        def compare(stored: dict[str, Any]) -> Compared:
            before = self.read_stored(folder, stored)
            return before.deciding(), self.comparable(before, folder)

        assert self.RECORD is not None
        whole = {"evenhand": VERSION, self.RECORD.part: self.model_dump(mode="json"), **content}
        self.RECORD.begin(folder, whole, compare, renewed=renewed)

    def deciding(self) -> dict[str, Any]:
        """Return the options that determine the results, as JSON-serialisable data."""
        return self.model_dump(mode="json", exclude=set(select_fields(type(self), "free", "again")))

    def comparable(self, before: Self, folder: Path) -> dict[str, Any]:
        """Return the options that must equal those of the stored study."""
        return self.deciding()

    def servers(self) -> list[str]:
        """Return the names of models and classifiers, which may be servers."""
        return [self.model] if hasattr(self, "model") else []

    def mitigations(self) -> list[str]:
        """Return the mitigations, as in `--mitigate`."""
        return []


def _words(value: Any) -> list[str]:
    """Return all strings in a value: the value itself, or those in a list or mapping."""
    parts = (
        value.values()
        if isinstance(value, Mapping)
        else value
        if isinstance(value, tuple | list)
        else [value]
    )
    return [part for part in parts if isinstance(part, str)]
