"""The Python front door of the search for an instruction, and the search as a page and in a terminal: what it changed,
how it came about, what to beware of."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup
from rich.console import Console

from evenhand.classifiers import Classifier
from evenhand.mitigations.revision import HIGHER, KEPT, LOWER, NONE, NOT_DETECTED, REFERENCE, Reviser, lineage
from evenhand.models import LanguageModel
from evenhand.reports import (
    SYMBOLS,
    Label,
    PlotArea,
    Printer,
    Scale,
    axis_svg,
    dot,
    interval_svg,
    line,
    probability,
    rendered,
    rows_of,
    scale_over,
)
from evenhand.runs import Progress, default_path
from evenhand.schema import UsageError, write_text
from evenhand.studies.audit import check_addresses, check_code, named_or_loaded
from evenhand.studies.model_options import load_named_model
from evenhand.studies.revise.card import effect, percent, points
from evenhand.studies.revise.conduct import Revision, revise_prompts
from evenhand.studies.revise.options import RevisionConfig, revision_config
from evenhand.studies.revise.record import stored_search

PAGE = "report.html"
REPEATABLE = ("device", "batch_tokens", "trust_remote_code")
"""Options of the model that may be given again when a search goes on."""
KINDS = {LOWER: "lower", HIGHER: "higher", NOT_DETECTED: "plain"}


def revise(
    model: str | LanguageModel,
    *,
    benchmark: str,
    prompts: Path | str | None = None,
    reviser: str | Reviser | None = None,
    instructions: str | Sequence[str] = (),
    classifiers: Mapping[str, str | Classifier | LanguageModel] | None = None,
    output: Path | str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Revision:
    """Search for the instruction behind which a model writes least that is harmful; prints nothing of its own.

    model: a name as for the command line, or a LanguageModel. benchmark: whose judged continuations are searched by.
    prompts: a file of your own prompts in place of the benchmark's. reviser: who rewords, a name or a Reviser; by
    default the rules. instructions: to begin with, in place of the library's own. classifiers: who judges, by role: a
    name or a Classifier. output: the search's folder; one that holds a search is gone on with, provided everything
    that decides the result is the same. options: anything else of
    `evenhand.studies.revise.options.RevisionConfig` (iterations, keep, variants, subset, final, role, ...) and of
    `evenhand.studies.audit.options.AuditConfig` (decoding, samples, seed, device, ...).
    Returns the finished search, with its page written. Raises UsageError and DataError that say how to mend what is
    wrong, Interrupted (resumable), ResumeRefused, ModelError.
    Source: ROBBIE, section B.3.1.

    >>> import tempfile
    >>> from evenhand.models.puppets import writes
    >>> said = writes(lambda prompt, sample: " a happy cook." if "dignity" in prompt else " a hated liar.")
    >>> found = revise(said, benchmark="regard", classifiers={"regard": "vader"}, iterations=1, keep=2, variants=2,
    ...                subset=20, final=20, instructions=["Speak with dignity.", "Speak."], samples=1,
    ...                output=tempfile.mkdtemp() + "/search")
    >>> found.chosen["verdict"], "dignity" in found.chosen["instruction"]
    ('lower', True)
    """
    judges, loaded = named_or_loaded(classifiers or {})
    given = {
        "model": model if isinstance(model, str) else _name(model),
        "benchmark": benchmark,
        "prompts": None if prompts is None else str(prompts),
        "reviser": reviser if reviser is None or isinstance(reviser, str) else _name(reviser),
        "instructions": (instructions,) if isinstance(instructions, str) else tuple(instructions),
        **({"classifiers": judges} if judges else {}),
        **options,
    }
    return revise_with(
        revision_config(given),
        model=None if isinstance(model, str) else model,
        reviser=None if isinstance(reviser, str) else reviser,
        loaded=loaded,
        output=None if output is None else Path(output),
        progress=progress,
    )


def revise_with(
    options: RevisionConfig,
    *,
    model: LanguageModel | None = None,
    reviser: Reviser | None = None,
    loaded: Mapping[str, Classifier] | None = None,
    output: Path | None = None,
    progress: Progress | None = None,
) -> Revision:
    """Search as options say, and write the page; `model`, `reviser` and `loaded` replace what these name if they are
    there already."""
    found = revise_prompts(
        options,
        model or load_named_model(options.audit),
        output or default_path(options.audit.model, f"revise-{'-'.join(options.audit.benchmarks)}"),
        reviser=reviser,
        loaded=loaded,
        progress=progress,
    )
    write_revision_page(found)
    return found


def resumed_search(
    folder: Path, given: Mapping[str, Any], *, trust_addresses: bool = False
) -> RevisionConfig:
    """The options of a search on disk, with those given anew (None and empty mean not given).

    Only how the model is loaded and computed may be given again: REPEATABLE. trust_addresses: ask servers that only
    the folder names (see `evenhand.studies.audit.trust`). Code that comes with the model is run only if `given` says
    so. Raises UsageError for anything else, DataError as `stored_search`, ResumeRefused where the folder alone names
    code or servers.
    """
    named = {name: value for name, value in given.items() if value is not None and value != ()}
    if others := [name for name in named if name not in REPEATABLE]:
        raise UsageError(
            f"{folder} is a search that was begun, and {', '.join(others)} was given.",
            "Leave options out to go on with it, or start another search.",
        )
    stored = stored_search(folder)
    audit = stored.audit
    check_code(folder, audit.trust_remote_code, bool(named.get("trust_remote_code")))
    names = [audit.model, *audit.classifiers.values(), stored.reviser]
    check_addresses(folder, names, trusted=trust_addresses)
    changed = {"trust_remote_code": False, **named}
    return stored.model_copy(update={"audit": audit.model_copy(update=changed)})


def _name(thing: LanguageModel | Reviser) -> str:
    return str(thing.fingerprint.get("name", type(thing).__name__))


def history_svg(history: pl.DataFrame, final: Mapping[str, Any] | None = None) -> Markup:
    """The search as a drawing: rounds from left to right, the change from no instruction upwards.

    history: see `mitigations.revision_history.history_frame`. final: `change`, `change_low` and `change_high` of the
    chosen instruction on new prompts, drawn at the right end. Each round has its own prompts, so that changes
    from its own reference are drawn, not rates.

    >>> from evenhand.mitigations.revision.searching import HISTORY
    >>> table = pl.DataFrame([{"iteration": 0, "instruction": "Be kind.", "fate": "kept", "change": -0.1}], HISTORY)
    >>> str(history_svg(table)).count("<circle")
    1
    """
    tried = history.filter(pl.col("change").is_not_null() & (pl.col("fate") != REFERENCE)).with_columns(
        change=100 * pl.col("change")
    )
    change, low, high = (
        None if final is None or final[name] is None else 100 * final[name]
        for name in ("change", "change_low", "change_high")
    )
    rounds = int(history["iteration"].max() or 0)  # type: ignore[arg-type]
    columns = [*map(str, range(rounds + 1)), *(["final"] if final else [])]
    up = scale_over([*tried["change"], change, low, high], include=[0.0])
    area = PlotArea(Scale(-0.5, len(columns) - 0.5, ()), up, left=9.0, right=97.0, height=260, bottom=26)
    parts = area.grid(null=0.0)
    names = [Label(name, area.x(i), 0) for i, name in enumerate(columns)]
    for name, row in zip(names, rows_of([name.span for name in names]), strict=True):
        if row == 0:  # of very many rounds not every one is numbered
            parts.append(area.under(name.x, name.words))
    kept = tried.filter(pl.col("fate") == KEPT)
    best = kept.group_by("iteration").agg(pl.col("change").min()).sort("iteration").rows()
    for (i, a), (j, b) in itertools.pairwise(best):
        parts.append(line("path", area.x(i), area.y(a), area.x(j), area.y(b)))
    for i, fate, value in tried.sort(pl.col("fate") == KEPT).select("iteration", "fate", "change").rows():
        parts.append(dot("kept" if fate == KEPT else "dropped", area.x(i), area.y(value), 4))
    if change is not None:
        parts.append(area.interval_up("final", area.x(rounds + 1), low, high))
        parts.append(dot("finaldot", area.x(rounds + 1), area.y(change), 4))
    described = (
        f"Change of the share of negative continuations by round, {rounds + 1} rounds; the best kept: "
        + ", ".join(points(value / 100) for _, value in best)
    )
    return area.drawn(parts, described=described)


def revision_page(revision: Revision) -> str:
    """The whole search on one page that needs no network; every text is escaped."""
    others = revision.finalists.filter(pl.col("instruction") != NONE)
    ends = [100 * v for name in ("change_low", "change_high", "change") for v in others[name].drop_nulls()]
    scale = scale_over(ends, include=[0.0])
    return rendered(
        Path(__file__).with_name("revision.html.j2"),
        facts=revision.facts,
        sentence=verdict_sentence(revision),
        chosen=revision.chosen,
        reference=revision.reference,
        drawing=history_svg(revision.history, revision.chosen),
        steps=lineage(revision.history, revision.chosen["instruction"]),
        finalists=[(row, _interval(scale, row)) for row in others.iter_rows(named=True)],
        axis=axis_svg(scale),
        cautions=cautions(revision),
        history=revision.history.to_dicts(),
        percent=percent,
        points=points,
    )


def write_revision_page(revision: Revision, path: Path | None = None) -> Path:
    """Write the page, to report.html in the search's folder unless told otherwise; raises WriteError."""
    return write_text(path or revision.folder / PAGE, revision_page(revision))


def render_revision(revision: Revision, console: Console, paths: Mapping[str, str] | None = None) -> None:
    """Print the chosen instruction, what it changed, the other finalists, and where everything lies."""
    out = Printer(console)
    out.line(f"{revision.facts['model']} on {revision.facts['benchmark']}", "bold")
    out.line(verdict_sentence(revision))
    out.gap()
    table = out.table(("", "left"), ("instruction", "left"), ("negative", "right"), ("change", "right"),
                      ("95 % together", "right"), ("p", "right"))  # fmt: skip
    for row in revision.finalists.iter_rows(named=True):
        symbol = SYMBOLS.get(row["verdict"] or "", "")
        name = row["instruction"] or REFERENCE
        out.row(
            table,
            symbol,
            f"{name}  (chosen)" if row["chosen"] else name,
            percent(row["rate"]),
            "" if row["instruction"] == NONE else points(row["change"]),
            ""
            if row["change_low"] is None
            else f"{points(row['change_low'])} to {points(row['change_high'])}",
            "" if row["p_adjusted"] is None else probability(row["p_adjusted"]),
            style="bold" if row["chosen"] else "",
        )
    out.show(table)
    for text in cautions(revision):
        out.line(f"- {text}", "dim")
    if paths:
        out.gap()
        for name, path in paths.items():
            out.path(name, path)


def verdict_sentence(revision: Revision) -> str:
    """What came of the search, in one sentence."""
    told = effect(revision.chosen)
    return (
        f"Of {revision.facts['instructions_tried']} instructions the one below was chosen: {told}, "
        f"as {revision.facts['classifier']} judges."
    )


def cautions(revision: Revision) -> list[str]:
    """What a reader must know before the instruction is used."""
    chosen, facts = revision.chosen, revision.facts
    told = []
    if chosen["verdict"] != LOWER:
        told.append("It was not shown to lower the share; one of them always has the smallest.")
    if chosen["optimism"] is not None:
        told.append(
            f"In the last round it changed the share by {points(chosen['selected_change'])} points, here by "
            f"{points(chosen['change'])}: the difference of {points(chosen['optimism'])} is what selection flattered "
            "(below 0) or hid, and chance."
        )
    if (chosen["silent"] or 0) > 0:
        told.append(f"{percent(chosen['silent'])} of its continuations are empty or refuse.")
    if not facts["greedy"]:
        told.append(
            "All instructions had the same prompts, decoding and seed; the tokens are drawn independently behind each."
        )
    told.append(
        "One model, one benchmark, one classifier: try it on others, and look at the quality of what is written, with "
        "evenhand audit --mitigate instruction-file=PATH."
    )
    return told


def _interval(scale: Scale, row: Mapping[str, Any]) -> Markup:
    change, low, high = (
        None if row[n] is None else 100 * row[n] for n in ("change", "change_low", "change_high")
    )
    return interval_svg(
        scale,
        change,
        low,
        high,
        described=effect(row),
        null=0.0,
        kind=KINDS.get(row["verdict"], "blank"),
        filled=row["verdict"] in (LOWER, HIGHER),
    )
