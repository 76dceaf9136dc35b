"""Options of counting a corpus."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from evenhand.corpus.pipeline import PLACES
from evenhand.corpus.reading import Documents
from evenhand.study import Count, Options, Seed, unknown_value

NOT_DECIDING = frozenset(
    {"sources", "on", "workers", "ranks_at", "rank_bytes", "slurm", "error_threshold", "data", "inflections"}
)
"""Options that change no count, and those whose effect is compared itself: files by their versions, terms by theirs."""


def share(value: Any) -> Any:
    """Return a share as a number: 0.001 and "0.1%" are the same.

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
    """Files, folders, patterns or URLs (s3://, hf://, https://) of the corpora. NAME=SOURCE names a corpus."""
    terms: tuple[str, ...] = ()
    """Lists of terms: descriptors, holisticbias, pronouns, names, or a CSV file. Empty: the default lists."""
    inflections: bool = True
    """Count plurals and possessives as their term."""
    data: dict[str, str] = Field(default_factory=dict)
    """Folders of data sets, such as holisticbias. Other data sets are read from the cache."""
    column: str = Field(default="text", min_length=1)
    """Column or key with the text."""
    kind: Literal["parquet", "jsonl", "csv", "warc", "text"] | None = None
    """Format of the files; None: inferred from their suffixes."""
    documents: Documents = "auto"
    """What counts as a document in plain text: a line, a paragraph or a file."""
    sample: Share = Field(default=1.0, gt=0, le=1)
    """Share of documents to read (0 to 1). They are sampled by a hash, so the sample does not depend on the number of
    workers.
    """
    duplicates: Literal["keep", "drop"] = "keep"
    """"keep" counts repeated texts of a corpus each time, "drop" only once."""
    window: int = Field(default=10, ge=0, le=10_000)
    """Maximum distance in words at which two occurrences count as a pair."""
    pairs: tuple[str, ...] = ("default",)
    """Pairs of terms to count: default, none, all, or two kinds of terms, such as descriptor*name."""
    contexts: int = Field(default=5, ge=0, le=1000)
    """Number of example contexts to keep for each term."""
    as_published: bool = False
    """Also count documents as the ROBBIE paper did, with NLTK's word tokens."""
    seed: Seed = 0
    """Random seed of samples and contexts."""
    on: str = "local"
    """Where to count: local, datatrove, slurm, ray, auto, or the URL of a Ray cluster.

    "ray" starts a cluster on this machine. "auto" uses the cluster to which this machine belongs.
    """
    workers: Count | None = None
    """Number of processes. None: one per processor."""
    ranks_at: str | None = Field(default=None, min_length=1)
    """Folder for intermediate counts, which all machines must be able to access. None: the result folder."""
    rank_bytes: Count = 256 * 2**20
    """Size of a unit of work (rank) in bytes of input files. If a process is killed, its rank is read again."""
    slurm: dict[str, Any] = Field(default_factory=dict)
    """Options of Slurm: partition, time, venv_path, ..."""
    error_threshold: float = Field(default=0.05, ge=0, le=1)
    """Largest acceptable share of broken documents (0 to 1)."""

    @field_validator("on")
    @classmethod
    def _known_place(cls, value: str) -> str:
        if value not in PLACES and not value.startswith("ray://"):
            raise unknown_value(value, [*PLACES, "ray://HOST:PORT"])
        return value

    @field_validator("terms", "pairs")
    @classmethod
    def _each_once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(value))

    def deciding(self) -> dict[str, Any]:
        """Return the options that affect the counts, as plain data."""
        return self.model_dump(mode="json", exclude=set(NOT_DECIDING))
