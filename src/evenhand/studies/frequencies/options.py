"""What counting a corpus is asked to do."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from evenhand.corpus.pipeline import PLACES
from evenhand.corpus.reading import Documents
from evenhand.studies.options import Count, Options, Seed

NOT_DECIDING = frozenset(
    {"sources", "on", "workers", "ranks_at", "rank_bytes", "slurm", "error_threshold", "data", "inflections"}
)
"""Options that change no count, and those whose effect is compared itself: files by their versions, terms by theirs."""


def share(value: Any) -> Any:
    """A share as a number: 0.001 and "0.1%" are the same.

    >>> share("0.1%"), share(0.5)
    (0.001, 0.5)
    """
    if not isinstance(value, str):
        return value
    number, percent, rest = value.strip().partition("%")
    try:
        found = float(number)
    except ValueError:
        found = float("nan")
    if rest or found != found:
        raise ValueError(f"{value!r} is not a share: write 0.001 or 0.1%")
    if not percent and found > 1:
        raise ValueError(f"{value!r} is more than 100%: for a percentage, write {value.strip()}%")
    return found / 100 if percent else found


Share = Annotated[float, BeforeValidator(share)]


class FrequencyOptions(Options):
    """Options of `evenhand frequencies`. Unknown names are refused."""

    sources: tuple[str, ...] = Field(min_length=1)
    """Files, folders, patterns, addresses (s3://, hf://, https://); NAME=ADDRESS names the corpus."""
    terms: tuple[str, ...] = ()
    """Lists of terms: descriptors, holisticbias, pronouns, names, or a CSV; empty: the usual ones."""
    inflections: bool = True
    """Whether plurals and possessives count as their term."""
    data: dict[str, str] = Field(default_factory=dict)
    """Folders of data sets, such as holisticbias; others come from the cache."""
    column: str = Field(default="text", min_length=1)
    """Column or key that holds the text."""
    kind: Literal["parquet", "jsonl", "csv", "warc", "text"] | None = None
    """Format of the files; None: inferred from their suffixes."""
    documents: Documents = "auto"
    """What a document of plain text is: a line, a paragraph, or a file."""
    sample: Share = Field(default=1.0, gt=0, le=1)
    """Share of documents to read, sampled by a hash; the sample does not depend on how work is divided."""
    duplicates: Literal["keep", "drop"] = "keep"
    """Whether repeated texts of a corpus are counted again (keep) or not (drop)."""
    window: int = Field(default=10, ge=0, le=10_000)
    """Words between two hits that are a pair in a window."""
    pairs: tuple[str, ...] = ("default",)
    """Which pairs of terms are counted: default, none, all, or two kinds as descriptor*name."""
    contexts: int = Field(default=5, ge=0, le=1000)
    """Contexts of each term that are kept to look at."""
    as_published: bool = False
    """Whether to count documents also as the paper did (with NLTK's word tokens)."""
    seed: Seed = 0
    """Random seed for samples and contexts."""
    on: str = "local"
    """Where to count: local, datatrove, slurm, ray (a cluster on this machine), auto (the cluster that this machine
    belongs to), or the URL of a Ray cluster."""
    workers: Count | None = None
    """Processes at once; None: as many as there are processors."""
    ranks_at: str | None = Field(default=None, min_length=1)
    """Folder for the counts of ranks until they are added up, reachable by all machines; None: the result folder."""
    rank_bytes: Count = 256 * 2**20
    """Bytes of the files per rank; if a process is killed, its rank is read again."""
    slurm: dict[str, Any] = Field(default_factory=dict)
    """Options of Slurm: partition, time, venv_path, ..."""
    error_threshold: float = Field(default=0.05, ge=0, le=1)
    """Share of documents that may be broken."""

    @field_validator("on")
    @classmethod
    def _known_place(cls, value: str) -> str:
        if value not in PLACES and not value.startswith("ray://"):
            raise ValueError(f"unknown value {value!r}; expected one of {', '.join(PLACES)}, ray://HOST:PORT")
        return value

    @field_validator("terms", "pairs")
    @classmethod
    def _each_once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(value))

    def deciding(self) -> dict[str, Any]:
        """The options that decide the counts, as plain data."""
        return self.model_dump(mode="json", exclude=set(NOT_DECIDING))


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those that were given: not None, and not empty."""
    return {name: value for name, value in options.items() if value is not None and value not in ((), {}, [])}
