"""Steps for datatrove pipelines: a reader without data loss, a counter for any reader, and a merger."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from evenhand.corpus.counting import CountingOptions, write_counts
from evenhand.corpus.pipeline.keeping import merged_ranks, rank_file
from evenhand.corpus.pipeline.stages import Repeats, Stage, known_repeats
from evenhand.corpus.pipeline.work import Counters, Work
from evenhand.corpus.reading import Batch, Piece, ReadingOptions, fold_of, read_batches
from evenhand.corpus.terms import TermTable
from evenhand.schema import UsageError

try:
    from datatrove.data import Document, DocumentsPipeline
    from datatrove.pipeline.base import PipelineStep
except ImportError as error:
    raise UsageError(
        "The steps for datatrove require datatrove, which is not installed.",
        "Install it: pip install 'evenhand[cluster]'",
    ) from error

CHARACTERS = 4_000_000
"""That are counted at a time."""


class TermCounter(PipelineStep):  # type: ignore[misc]
    """Counts terms in the documents that pass, and hands them on as they are; behind any reader and filter.

    table: a frozen table of terms; each task builds its own automaton of it. folder: where a task keeps its counts, one
    file at its end: a path, or an address of fsspec. corpus: the name for documents whose metadata have no `corpus`.
    options: what is counted. Add the files up with `CountsMerger`, or `evenhand.corpus.merged_ranks`.
    Raises UsageError where datatrove is not installed, WriteError.
    """

    name, type = "evenhand terms", "Counter"

    def __init__(
        self,
        table: TermTable,
        folder: str,
        *,
        corpus: str = "corpus",
        options: CountingOptions = CountingOptions(),  # noqa: B008
    ):
        super().__init__()
        self.table, self.folder, self.corpus, self.options = table, str(folder), corpus, options
        self._read: list[tuple[Batch, Piece]] = []
        self._pieces: dict[tuple[str, int], Piece] = {}

    def begin(self, piece: Piece) -> None:
        """Hear from the reader in front what the next documents are of."""
        self._pieces[piece.address, piece.first] = piece

    def hear(self, batch: Batch, piece: Piece) -> None:
        """Hear from it what it read and skipped, which no document can tell."""
        self._read.append((replace(batch, texts=[], folds=[], places=[]), piece))

    def run(
        self, data: "DocumentsPipeline" = None, rank: int = 0, world_size: int = 1
    ) -> Iterator["Document"]:
        """The documents, unchanged; the file is there when the last has passed."""
        self._read, self._pieces = [], {}  # of the task before, in the same process
        counters = Counters(self.table, self.options)
        waiting: dict[Piece, list[tuple[str, int, int]]] = defaultdict(list)
        size = 0
        for number, document in enumerate(data or ()):
            text, known = document.text, document.metadata
            fold = known["fold"] if "fold" in known else fold_of(text)
            waiting[self._piece(document)].append((text, fold, known.get("place", number)))
            size += len(text)
            if size >= CHARACTERS:
                self._count(waiting, counters)
                size = 0
            self.stat_update("documents")
            yield document
        self._count(waiting, counters)
        for batch, piece in self._read:
            counters.of(piece.corpus).add(batch, piece)
        counters.of(self.corpus)  # where there was nothing, too, the task has counted
        write_counts(rank_file(self.folder, rank), counters.counts())

    def _count(self, waiting: dict[Piece, list[tuple[str, int, int]]], counters: Counters) -> None:
        for piece, rows in waiting.items():
            texts, folds, places = (list(column) for column in zip(*rows, strict=True))
            with self.track_time("batch"):
                counters.of(piece.corpus).add(Batch(texts, folds, places), piece)
        waiting.clear()

    def _piece(self, document: "Document") -> Piece:
        known = document.metadata
        address, first = str(known.get("file_path", "")), known.get("first", 0)
        if (address, first) in self._pieces:
            return self._pieces[address, first]
        return Piece(str(known.get("corpus", self.corpus)), address, "documents", 0)


class CorpusReader(PipelineStep):  # type: ignore[misc]
    """Reads documents as `evenhand frequencies` does: what cannot be read is counted by reason.

    parts: pieces (`evenhand.corpus.pieces`) in parts (`evenhand.corpus.dealt`); a task reads every `tasks`-th part.
    reading: column, sample, duplicates. counter: which hears what was skipped and read; None: only the steps' own
    statistics say it. work: of which the parts are the ranks, where duplicates are dropped and were looked for.
    Readers of datatrove log a document that cannot be read and forget it.
    Raises UsageError where datatrove is not installed, DataError for files that cannot be read.
    """

    name, type = "evenhand corpus", "Reader"

    def __init__(
        self,
        parts: Sequence[Sequence[Piece]],
        reading: ReadingOptions = ReadingOptions(),  # noqa: B008
        *,
        counter: TermCounter | None = None,
        work: Work | None = None,
    ):
        super().__init__()
        self.parts, self.reading, self.counter = [tuple(part) for part in parts], reading, counter
        self.work = work

    def run(
        self, data: "DocumentsPipeline" = None, rank: int = 0, world_size: int = 1
    ) -> Iterator["Document"]:
        """Documents of a task, behind those that are handed on."""
        yield from data or ()
        for number in range(rank, len(self.parts), world_size):
            repeats = {} if self.work is None else known_repeats(self.work, number)
            for piece in self.parts[number]:
                yield from self._documents(piece, repeats)

    def _documents(self, piece: Piece, repeats: Repeats) -> Iterator["Document"]:
        if self.counter is not None:
            self.counter.begin(piece)
        for batch in read_batches(piece, self.reading, repeats.get(piece.number)):
            if self.counter is not None:
                self.counter.hear(batch, piece)
            for reason, times in batch.skipped.items():
                self.stat_update(str(reason), value=times)
            for text, fold, place in zip(batch.texts, batch.folds, batch.places, strict=True):
                known = {
                    "corpus": piece.corpus,
                    "file_path": piece.address,
                    "first": piece.first,
                    "place": place,
                    "fold": fold,
                }
                document = Document(text, f"{piece.address}#{place}", metadata=known)
                self.stat_update("documents")
                self.update_doc_stats(document)
                yield document


class RankStep(PipelineStep):  # type: ignore[misc]
    """One rank of a stage that is none of documents."""

    name, type = "evenhand rank", "Stage"

    def __init__(self, work: Work, stage: Stage):
        super().__init__()
        self.work, self.stage = work, stage

    def run(
        self, data: "DocumentsPipeline" = None, rank: int = 0, world_size: int = 1
    ) -> Iterator["Document"]:
        """Does it, and hands on what comes."""
        yield from data or ()
        self.stage.run(self.work, rank)


class CountsMerger(PipelineStep):  # type: ignore[misc]
    """Adds up what tasks of `TermCounter` kept: the only step of an executor with tasks=1 that depends on theirs.

    folder: theirs. tasks: how many they were; one that is missing is refused. output: where the sum is written.
    Raises DataError for missing and damaged files, and for tables of terms that differ, WriteError.
    """

    name, type = "evenhand sum", "Merger"

    def __init__(self, folder: str, tasks: int, output: str):
        super().__init__()
        self.folder, self.tasks, self.output = str(folder), tasks, str(output)

    def run(
        self, data: "DocumentsPipeline" = None, rank: int = 0, world_size: int = 1
    ) -> Iterator["Document"]:
        """Hands on what comes, and writes the sum."""
        yield from data or ()
        if rank == 0:
            write_counts(self.output, merged_ranks(self.folder, self.tasks))
