"""Steps for datatrove pipelines: a reader without data loss, a counter for any reader, and a merger."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from evenhand.corpus.counting import CountingOptions, write_counts
from evenhand.corpus.pipeline.keeping import merged_ranks, rank_file
from evenhand.corpus.pipeline.stages import Repeats, Stage, known_repeats
from evenhand.corpus.pipeline.work import CorpusWork, Counters
from evenhand.corpus.reading import Batch, Piece, ReadingOptions, assign_fold, read_batches
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
"""Number of characters that are counted at a time."""


class TermCounter(PipelineStep):  # type: ignore[misc]
    """A step of a datatrove pipeline that counts terms in the documents that pass.

    Put it after any reader and filter. Documents are passed on unchanged. Add the counts of the tasks with
    `CountsMerger` or `evenhand.corpus.merged_ranks`.

    Parameters
    ----------
    table : TermTable
        The terms. Each task builds its own automaton from it.
    folder : str
        Path or fsspec URL of a folder. Each task writes its counts there to one file when it ends.
    corpus : str, default "corpus"
        Name of the corpus, for documents whose metadata have no `corpus`.
    options : CountingOptions
        Options that determine what is counted.

    Raises
    ------
    UsageError
        datatrove is not installed.
    WriteError
        The counts cannot be written.
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
        """Receive from the preceding reader the source of the next documents."""
        self._pieces[piece.address, piece.first] = piece

    def hear(self, batch: Batch, piece: Piece) -> None:
        """Receive from the preceding reader what it read and skipped."""
        self._read.append((replace(batch, texts=[], folds=[], places=[]), piece))

    def run(
        self, data: "DocumentsPipeline" = None, rank: int = 0, world_size: int = 1
    ) -> Iterator["Document"]:
        """Yield the documents unchanged. The counts are written after the last one."""
        self._read, self._pieces = [], {}  # reset what an earlier task in the same process read
        counters = Counters(self.table, self.options)
        waiting: dict[Piece, list[tuple[str, int, int]]] = defaultdict(list)
        size = 0
        for number, document in enumerate(data or ()):
            text, known = document.text, document.metadata
            fold = known["fold"] if "fold" in known else assign_fold(text)
            waiting[self._piece(document)].append((text, fold, known.get("place", number)))
            size += len(text)
            if size >= CHARACTERS:
                self._count(waiting, counters)
                size = 0
            self.stat_update("documents")
            yield document
        self._count(waiting, counters)
        for batch, piece in self._read:
            counters.get_counter(piece.corpus).add(batch, piece)
        counters.get_counter(
            self.corpus
        )  # create a counter even without documents, so that the task has counts
        write_counts(rank_file(self.folder, rank), counters.counts())

    def _count(self, waiting: dict[Piece, list[tuple[str, int, int]]], counters: Counters) -> None:
        for piece, rows in waiting.items():
            texts, folds, places = (list(column) for column in zip(*rows, strict=True))
            with self.track_time("batch"):
                counters.get_counter(piece.corpus).add(Batch(texts, folds, places), piece)
        waiting.clear()

    def _piece(self, document: "Document") -> Piece:
        known = document.metadata
        address, first = str(known.get("file_path", "")), known.get("first", 0)
        if (address, first) in self._pieces:
            return self._pieces[address, first]
        return Piece(str(known.get("corpus", self.corpus)), address, "documents", 0)


class CorpusReader(PipelineStep):  # type: ignore[misc]
    """A step of a datatrove pipeline that reads documents as `evenhand frequencies` does.

    Use it instead of a reader of datatrove if no document may be lost silently. It counts documents that
    cannot be read, by reason. Readers of datatrove only log them.

    Parameters
    ----------
    parts : sequence of sequence of Piece
        Pieces (`evenhand.corpus.pieces`) in parts (`evenhand.corpus.divide_pieces`). Of N tasks, each reads every
        N-th part.
    reading : ReadingOptions
        Column, sample and duplicates.
    counter : TermCounter, optional
        Counter that is notified of what was read and skipped. Default: only the statistics of the step state
        it.
    work : Work, optional
        The work whose ranks are the parts. Needed if duplicates are dropped.

    Raises
    ------
    UsageError
        datatrove is not installed.
    DataError
        Files cannot be read.
    """

    name, type = "evenhand corpus", "Reader"

    def __init__(
        self,
        parts: Sequence[Sequence[Piece]],
        reading: ReadingOptions = ReadingOptions(),  # noqa: B008
        *,
        counter: TermCounter | None = None,
        work: CorpusWork | None = None,
    ):
        super().__init__()
        self.parts, self.reading, self.counter = [tuple(part) for part in parts], reading, counter
        self.work = work

    def run(
        self, data: "DocumentsPipeline" = None, rank: int = 0, world_size: int = 1
    ) -> Iterator["Document"]:
        """Yield incoming documents, and then the documents of a task."""
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
    """A step that processes one rank of a stage without documents."""

    name, type = "evenhand rank", "Stage"

    def __init__(self, work: CorpusWork, stage: Stage):
        super().__init__()
        self.work, self.stage = work, stage

    def run(
        self, data: "DocumentsPipeline" = None, rank: int = 0, world_size: int = 1
    ) -> Iterator["Document"]:
        """Process the rank, and pass on the incoming documents."""
        yield from data or ()
        self.stage.run(self.work, rank)


class CountsMerger(PipelineStep):  # type: ignore[misc]
    """A step of a datatrove pipeline that adds the counts of all tasks of `TermCounter`.

    Run it as the only step of an executor with tasks=1 that depends on the executor of the counters.

    Parameters
    ----------
    folder : str
        Folder in which the tasks stored their counts.
    tasks : int
        Number of tasks.
    output : str
        File for the total counts.

    Raises
    ------
    DataError
        A file is missing or damaged, or the tables of terms differ.
    WriteError
        The output cannot be written.
    """

    name, type = "evenhand sum", "Merger"

    def __init__(self, folder: str, tasks: int, output: str):
        super().__init__()
        self.folder, self.tasks, self.output = str(folder), tasks, str(output)

    def run(
        self, data: "DocumentsPipeline" = None, rank: int = 0, world_size: int = 1
    ) -> Iterator["Document"]:
        """Pass on the documents, and write the total counts."""
        yield from data or ()
        if rank == 0:
            write_counts(self.output, merged_ranks(self.folder, self.tasks))
