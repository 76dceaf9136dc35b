"""Compose the half a million sentences of HolisticBias v1.0 and v1.1 from four small files.

A sentence can be computed from its index, without a table of all sentences.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenhand.prompts.datasets import recognised_version
from evenhand.prompts.holisticbias.card import VERSIONS, holisticbias_card
from evenhand.prompts.holisticbias.files import Parts, TemplateEntry, read_parts
from evenhand.prompts.holisticbias.phrases import NONE, HolisticBiasPhrase, compose_phrases
from evenhand.prompts.holisticbias.style_variations import with_style_variations
from evenhand.prompts.prompt_set import PromptSet
from evenhand.schema import DataError, UsageError, atomic_write, table_bytes, write_table

PUBLISHED_COLUMNS = ("text", *HolisticBiasPhrase._fields, "template", "first_turn_only", "must_be_noun")
PROMPT_NAMES = {"descriptor_preference": "preference", "noun_gender": "gender"}
"""Names of columns in a prompt table that differ from those in the published file."""
ROWS_AT_ONCE = 1 << 16
Format = Literal["csv", "parquet"]


@dataclass(frozen=True, eq=False)
class HolisticBias:
    """The HolisticBias sentence set: noun phrases about groups of people in sentence templates.

    Create it with `HolisticBias.load`. A noun phrase is a descriptor of a group with a noun ("a Deaf woman"),
    or one of the two alone.

    Attributes
    ----------
    version : str
        "v1.0" or "v1.1".
    as_published : bool
        Whether the quirks of the published code are kept.
    modified : bool
        Whether the files differ from those published for this version.
    phrases : tuple of HolisticBiasPhrase
        The noun phrases, with axis, descriptor and noun.
    templates : tuple of TemplateEntry
        The sentences with a placeholder for a noun phrase.
    first_ids : numpy.ndarray of int, shape (phrases,)
        Row number in the full set of each noun phrase's first sentence. Subsets keep it, so that prompt_ids
        stay the same.

    Notes
    -----
    Only noun phrases and templates are stored. Sentences are computed from their index. Sentence i belongs to
    the noun phrase p with `starts[p] <= i < starts[p + 1]`. Its template has the number `i - starts[p]` among
    those that the noun phrase allows.

    References
    ----------
    Smith et al. (2022), "'I'm sorry to hear that': Finding New Biases in Language Models with a Holistic
    Descriptor Dataset", EMNLP, section 3.
    """

    version: str
    as_published: bool
    modified: bool
    """True if the files differ from those published for this version."""
    phrases: tuple[HolisticBiasPhrase, ...]
    templates: tuple[TemplateEntry, ...]
    first_ids: NDArray[np.int64]
    """Row number in the full set of each phrase's first sentence. Subsets keep it, so that prompt_ids stay the same."""

    @classmethod
    def load(cls, folder: Path | str, version: str = "v1.1", as_published: bool = False) -> "HolisticBias":
        """Read the four JSON files of a folder and compose their noun phrases.

        Parameters
        ----------
        folder : path or str
            Contains descriptors.json, nouns.json, sentence_templates.json and standalone_noun_phrases.json, or
            a folder named like the version that does.
        version : {"v1.0", "v1.1"}, default "v1.1"
            Version of the files. You can edit the files; the set is then marked as modified.
        as_published : bool, default False
            Keep the quirks of the published composer (`evenhand.prompts.holisticbias.card.QUIRKS`), such as the
            article "an" before "European".

        Returns
        -------
        HolisticBias
            The sentence set.

        Raises
        ------
        DataError
            The version is unknown, the folder contains the other published version, or a file is missing or has
            the wrong structure.

        Notes
        -----
        Source: Smith et al. 2022, section 3.
        """
        folder = Path(folder)
        if version not in VERSIONS:
            raise DataError(
                f"Unknown version of HolisticBias: {version!r}.",
                f"Known: {', '.join(VERSIONS)}. The published folders have the names v1.0 and v1.1.",
            )
        if not (folder / "descriptors.json").exists() and (folder / version / "descriptors.json").exists():
            folder = folder / version
        parts = read_parts(folder)
        recognised = recognised_version("holisticbias", folder)
        if recognised not in (None, version):
            raise DataError(
                f"{folder} contains HolisticBias {recognised}, not {version}.",
                f"Give the folder of {version}, or ask for {recognised}.",
            )
        return cls.from_parts(parts, version, as_published, modified=recognised is None)

    @classmethod
    def from_parts(
        cls, parts: Parts, version: str, as_published: bool = False, modified: bool = True
    ) -> "HolisticBias":
        """Compose the set from the content of the four files, for example after you edited it in Python.

        Parameters
        ----------
        parts : Parts
            Content of the four files.
        version : {"v1.0", "v1.1"}
            Version of the files.
        as_published : bool, default False
            Use the articles and templates of the published composer, as in `load`.
        modified : bool, default True
            Whether the content differs from the published files. If True, the card of the set states it.

        Returns
        -------
        HolisticBias
            The sentence set.
        """
        phrases = tuple(compose_phrases(parts, as_published))
        made = cls(version, as_published, modified, phrases, parts.templates, np.empty(0, dtype=np.int64))
        return replace(made, first_ids=made.starts[:-1])

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Return the index of each noun phrase's first sentence, followed by the number of all sentences.

        The array has the shape (phrases + 1,).
        """
        counts = [len(self._fitting_templates(phrase)) for phrase in self.phrases]
        return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])

    def __len__(self) -> int:
        return int(self.starts[-1])

    def row(self, i: int) -> dict[str, str | bool]:
        """Return sentence i with the 15 published columns, without building a table.

        Raises IndexError unless 0 <= i < len(self).
        """
        phrase, template = self._place(i)
        columns = {
            **phrase._asdict(),
            "template": template.template,
            "first_turn_only": template.first_turn_only,
            "must_be_noun": template.must_be_noun,
        }
        return {"text": _sentence(phrase, template), **columns}

    def text(self, i: int) -> str:
        """Return sentence i, without building a table.

        Raises IndexError unless 0 <= i < len(self).
        """
        return _sentence(*self._place(i))

    def texts(self) -> pl.Series:
        """Return all sentences in order, shape (len(self),)."""
        return self._rows(0, len(self.phrases), ["text"])["text"]

    def likelihood_subset(self) -> "HolisticBias":
        """Return the sentences that the published measure Likelihood Bias uses.

        Their noun phrases consist of a descriptor without a gender and a noun, so each (axis, template,
        descriptor) has one sentence per noun. There are 460,980 sentences in v1.0 and 549,120 in v1.1. Raises
        UsageError if no sentence is left. Source: the released evaluation of Smith et al. 2022.
        """
        types = ("descriptor_noun", "noun_descriptor")
        return self._where(
            phrase.noun_phrase_type in types and phrase.descriptor_gender == NONE for phrase in self.phrases
        )

    def small_set(self) -> "HolisticBias":
        """Return the published small set: the sentences of 100 descriptors drawn with a fixed seed.

        There are 74,296 sentences in v1.0 and 71,436 in v1.1. Raises UsageError if there are fewer than 100
        descriptors. Source: Smith et al. 2022, section 3.
        """
        names = sorted({phrase.descriptor for phrase in self.phrases})
        if len(names) < 100:
            raise UsageError(
                f"The small set requires at least 100 descriptors, but there are only {len(names)}.",
                "Use the complete files of HolisticBias.",
            )
        drawn = set(np.random.default_rng(17).choice(names, size=100, replace=False).tolist())
        return self._where(phrase.descriptor in drawn for phrase in self.phrases)

    def sentences(self) -> pl.DataFrame:
        """Return the published sentence table: 15 columns, one row per sentence."""
        return self._rows(0, len(self.phrases), PUBLISHED_COLUMNS)

    def noun_phrases(self) -> pl.DataFrame:
        """Return the published table of noun phrases: 11 columns, one row per noun phrase."""
        return pl.DataFrame(
            self.phrases, schema=dict.fromkeys(HolisticBiasPhrase._fields, pl.String), orient="row"
        )

    def prompt_set(self, variations_seed: int | None = None) -> PromptSet:
        """Return the sentences as a prompt set.

        Parameters
        ----------
        variations_seed : int, optional
            If given, the text of each prompt is varied at random as in the published `get_sentence`: "I am" for
            "I'm", no hyphens, lower case, no final period. The original sentence is then in ``unvaried_text``.

        Returns
        -------
        PromptSet
            Columns: ``prompt_id`` (row number in the full set), ``text``, the published columns (``preference``
            and ``gender`` replace descriptor_preference and noun_gender), and ``cluster``, which is the
            template. Control rows, which have a noun but no descriptor, have the axis "null". Values that do
            not apply are "(none)".
        """
        frame = self._rows(0, len(self.phrases), PUBLISHED_COLUMNS, ids=True).rename(PROMPT_NAMES)
        frame = frame.with_columns(cluster=pl.col("template"))
        card = holisticbias_card(self.version, self.as_published, self.modified, len(self))
        prompts = PromptSet(frame, card)
        return prompts if variations_seed is None else with_style_variations(prompts, variations_seed)

    def write_sentences(self, path: Path | str, format: Format = "csv") -> None:
        """Write the published sentence table in pieces; the file appears only when it is complete.

        Parameters
        ----------
        path : path or str
            File to write.
        format : {"csv", "parquet"}, default "csv"
            With `as_published`, the CSV equals the published file byte for byte.

        Raises
        ------
        UsageError
            The format is unknown.
        WriteError
            The file cannot be written, for example because the disk is full.
        """
        if format not in ("csv", "parquet"):
            raise UsageError(f"Unknown format: {format!r}.", "Expected csv or parquet.")
        if format == "parquet":
            write_table(path, self.sentences(), "parquet")
            return
        with atomic_write(Path(path)) as handle:
            for number, piece in enumerate(self._pieces()):
                handle.write(_published_csv(piece, header=number == 0))

    def write_noun_phrases(self, path: Path | str) -> None:
        """Write the published table of noun phrases as CSV; the file appears only when it is complete.

        Raises WriteError if the disk is full or not writable.
        """
        with atomic_write(Path(path)) as handle:
            handle.write(_published_csv(self.noun_phrases(), header=True))

    def _fitting_templates(self, phrase: HolisticBiasPhrase) -> tuple[TemplateEntry, ...]:
        if phrase.noun != NONE:
            return self.templates
        if phrase.noun_phrase_type == "fixed_phrase" and not self.as_published:
            return self.templates  # a fixed phrase is a complete noun phrase and fits every template
        return self._without_noun

    @cached_property
    def _without_noun(self) -> tuple[TemplateEntry, ...]:
        return tuple(template for template in self.templates if not template.must_be_noun)

    def _place(self, i: int) -> tuple[HolisticBiasPhrase, TemplateEntry]:
        if not 0 <= i < len(self):
            raise IndexError(f"sentence {i} of {len(self)}")
        p = int(np.searchsorted(self.starts, i, side="right")) - 1
        phrase = self.phrases[p]
        return phrase, self._fitting_templates(phrase)[i - int(self.starts[p])]

    def _where(self, keep: Iterable[bool]) -> "HolisticBias":
        kept = np.flatnonzero(np.fromiter(keep, dtype=bool, count=len(self.phrases)))
        if not kept.size:
            raise UsageError(
                f"This selection contains none of the {len(self.phrases):,} noun phrases.",
                "Select more axes, descriptors or nouns.",
            )
        phrases = tuple(self.phrases[p] for p in kept)
        # create a new object, because the cached `starts` belong to the old phrases
        return HolisticBias(
            self.version, self.as_published, self.modified, phrases, self.templates, self.first_ids[kept]
        )

    def _pieces(self) -> Iterator[pl.DataFrame]:
        edges = np.searchsorted(self.starts, np.arange(0, len(self), ROWS_AT_ONCE))
        edges = np.append(edges, len(self.phrases))
        for first, last in pairwise(edges):
            yield self._rows(int(first), int(last), PUBLISHED_COLUMNS)

    def _rows(self, first: int, last: int, columns: Iterable[str], ids: bool = False) -> pl.DataFrame:
        """Return the sentences of the noun phrases first to last - 1 as a table.

        columns: names of the columns. ids: also add the column prompt_id.
        """
        counts = np.diff(self.starts[first : last + 1])
        phrase_of = np.repeat(np.arange(last - first), counts)
        within = np.arange(counts.sum()) - np.repeat(self.starts[first:last] - self.starts[first], counts)
        numbers = {template.template: t for t, template in enumerate(self.templates)}
        short = np.array([numbers[template.template] for template in self._without_noun], dtype=np.int64)
        shortened = np.array(
            [self._fitting_templates(p) is self._without_noun for p in self.phrases[first:last]]
        )
        template_of = within.copy()
        template_of[shortened[phrase_of]] = short[within[shortened[phrase_of]]]

        frame = pl.DataFrame(
            {column: self._column(column, first, last, phrase_of, template_of) for column in columns}
        )
        if not ids:
            return frame
        row_ids = np.repeat(self.first_ids[first:last], counts) + within
        return frame.select(pl.Series("prompt_id", row_ids).cast(pl.String), pl.all())

    def _column(
        self,
        name: str,
        first: int,
        last: int,
        phrase_of: NDArray[np.int64],
        template_of: NDArray[np.int64],
    ) -> pl.Series:
        phrases = self.phrases[first:last]
        if name == "text":
            singular = [phrase.noun_phrase for phrase in phrases]
            plural = [phrase.plural_noun_phrase for phrase in phrases]
            use_plural = np.array([template.plural for template in self.templates])[template_of]
            before = _take_values([template.around[0] for template in self.templates], template_of)
            behind = _take_values([template.around[1] for template in self.templates], template_of)
            middle = pl.Series([*singular, *plural])[phrase_of + use_plural * len(phrases)]
            parts = pl.DataFrame([before.alias("0"), middle.alias("1"), behind.alias("2")])
            return parts.select(text=pl.concat_str("0", "1", "2"))["text"]
        if name in HolisticBiasPhrase._fields:
            values: list[Any] = [getattr(phrase, name) for phrase in phrases]
            return _take_values(values, phrase_of)
        return _take_values([getattr(template, name) for template in self.templates], template_of)


def _take_values(values: list[Any], places: NDArray[np.int64]) -> pl.Series:
    """Return values[places] as a column. Each distinct string is stored only once in memory."""
    return pl.Series(values)[places]


def _sentence(phrase: HolisticBiasPhrase, template: TemplateEntry) -> str:
    before, behind = template.around
    return before + (phrase.plural_noun_phrase if template.plural else phrase.noun_phrase) + behind


def _published_csv(frame: pl.DataFrame, header: bool) -> memoryview:
    """Return a table as CSV in the published format: minimal quotes, True and False, and a line feed after each row."""
    flags = [name for name, dtype in frame.schema.items() if dtype == pl.Boolean]
    words = [
        pl.when(pl.col(flag)).then(pl.lit("True")).otherwise(pl.lit("False")).alias(flag) for flag in flags
    ]
    return table_bytes(frame.with_columns(words), "csv", include_header=header, quote_style="necessary")
