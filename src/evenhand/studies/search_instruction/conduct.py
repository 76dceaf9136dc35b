"""The search for an instruction that reduces harmful continuations. It can be stopped and resumed at any time.

`mitigations/revision` has the search and the final choice as pure functions. This module provides prompts, a model, a
classifier and a reviser, and stores their outputs in a folder.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.classifiers import Classifier
from evenhand.mitigations.prompting import FoundInstruction, Prefix
from evenhand.mitigations.revision import (
    NONE,
    InstructionSearch,
    Reviser,
    Score,
    compare_finalists,
    fit_seeds,
    history_frame,
    load_reviser,
    score_outcomes,
    search,
)
from evenhand.models import LanguageModel
from evenhand.runs import Labelling, Progress, Silence, Stopping, hold_lock, resumable
from evenhand.schema import (
    VERSION,
    DataError,
    Interrupted,
    ModelError,
    UsageError,
    as_json,
    read_json,
    unknown_name,
    write_json,
    write_table,
)
from evenhand.studies.audit import Selection, select
from evenhand.studies.search_instruction.card import instruction_card
from evenhand.studies.search_instruction.options import RevisionConfig
from evenhand.studies.search_instruction.record import begin
from evenhand.studies.search_instruction.trials import RevisionPrompts, Trials, derived_seed, revision_prompts

HISTORY_FILE, FINALISTS_FILE = "history.parquet", "finalists.parquet"
INSTRUCTION_FILE = "instruction.json"
MOST_UNJUDGED = 0.5
"""Share of the first trial without a judgement above which there is nothing to search by."""


@dataclass(frozen=True)
class RevisionStudy:
    """Result of a search.

    history: see `history_frame`. finalists: see `compare_finalists`; the reference comes first. instruction: the chosen
    one, as written to instruction.json. facts: descriptions of model, benchmark, classifier and prompts for reports.
    """

    folder: Path
    history: pl.DataFrame
    finalists: pl.DataFrame
    instruction: FoundInstruction
    facts: Mapping[str, Any]

    @property
    def chosen(self) -> dict[str, Any]:
        """Return the row of the chosen instruction."""
        return self.finalists.row(by_predicate=pl.col("chosen"), named=True)

    @property
    def reference(self) -> dict[str, Any]:
        """Return the row of the model without an instruction, on the same prompts."""
        return self.finalists.row(by_predicate=pl.col("instruction") == NONE, named=True)


def search_prompts(
    config: RevisionConfig,
    model: LanguageModel,
    output: Path | str,
    *,
    reviser: Reviser | None = None,
    loaded: Mapping[str, Classifier] | None = None,
    progress: Progress | None = None,
) -> RevisionStudy:
    """Search for an instruction, or resume a search.

    All instructions of a round are tried on the same prompts with the same decoding and seed; each round draws new
    prompts, evenly over groups; the last choice is made on prompts that no round saw.

    Raises Interrupted (resumable after each trial), ResumeRefused, UsageError, and what select, the model, the
    classifier and the reviser raise.

    Parameters
    ----------
    config
        All options; its benchmark must have continuations and a classifier of negative ones.
    output
        The search's folder; an existing search is resumed if all options that affect the result are the same.
    reviser, loaded
        A reviser, and classifiers by name, that are loaded already.

    Returns
    -------
    result
        the search's outcome, also written to the folder.

    References
    ----------
    - ROBBIE, section B.3.1.
    """
    progress = progress or Silence()
    selection = select(config.audit, model, loaded=loaded)
    labelling = _choose_labelling(selection, config.role)
    name = labelling.benchmark
    classifier = selection.classifiers[labelling.classifier]
    decoding = selection.decodings[name].decoding
    # raises for models that accept no instruction, before anything is loaded
    Prefix("An instruction.")(model)
    reviser = reviser or load_reviser(config.reviser, device=config.audit.device)
    prompts = revision_prompts(
        selection.benchmarks[0],
        selection.prompts[name],
        rounds=config.iterations + 1,
        seed=config.audit.seed,
        subset=config.subset,
        final=config.final,
    )
    fit_seeds(config.seeds, prompts.screen(config.most_words))
    record = as_json(
        {
            "config": config.model_dump(mode="json", exclude={"audit"}),
            "audit": config.audit.same_results(),
            "seeds": list(config.seeds),
            "model": model.fingerprint,
            "reviser": reviser.fingerprint,
            "classifier": classifier.fingerprint,
            "judged": labelling.rule.parameters(),
            "decoding": decoding.parameters(),
            "prompts": selection.prompts[name].content_hash,
            "subset": prompts.subset,
            "final": len(prompts.final),
        }
    )
    output = Path(output)
    begin(output, record)
    go_on = f"Resume with: evenhand search-instruction {output}"
    with resumable(go_on), hold_lock(output / "lock"), Stopping() as stopping:
        trials = Trials(
            model,
            name,
            decoding,
            classifier,
            labelling.rule,
            output / "trials",
            config.delimiter,
            stopping.in_flight,
        )
        session = _Session(config, prompts, trials, reviser, output, progress)
        try:
            result, finalists = session.run()
        except KeyboardInterrupt as stop:
            made = f"Stopped with {session.made:,} trials made in this session. All results so far are saved."
            raise Interrupted(made, go_on) from stop
        history = history_frame(result.steps)
        facts = _facts(config, labelling, prompts, trials, reviser, result)
        instruction = instruction_card(finalists, history, facts, config.delimiter)
        write_table(output / HISTORY_FILE, history)
        write_table(output / FINALISTS_FILE, finalists)
        instruction.write(output / INSTRUCTION_FILE)
    return RevisionStudy(output, history, finalists, instruction, facts)


@dataclass
class _Session:
    """One run of a search; stored outputs are read, missing ones are generated and stored."""

    config: RevisionConfig
    prompts: RevisionPrompts
    trials: Trials
    reviser: Reviser
    folder: Path
    progress: Progress
    made: int = 0

    def run(self) -> tuple[InstructionSearch, pl.DataFrame]:
        config, seed = self.config, self.config.audit.seed
        result = search(
            config.seeds, self.reword, self.score, self.prompts.screen(config.most_words), config.search
        )
        self.progress.note(f"final choice among {len(result.pool)}: {len(self.prompts.final):,} new prompts")
        tried = {text: self.outcomes(text, None) for text in (NONE, *result.pool)}
        reference = tried.pop(NONE)
        table = compare_finalists(
            reference,
            tried,
            result,
            options=config.search,
            group_weight=config.group_weight,
            alpha=config.audit.alpha,
            seed=seed,
        )
        return result, table

    def score(self, instructions: Sequence[str], iteration: int) -> list[Score]:
        self.progress.note(
            f"round {iteration} of {self.config.iterations}: {len(instructions) - 1} instructions"
        )
        scores = []
        for text in instructions:
            score = score_outcomes(self.outcomes(text, iteration), group_weight=self.config.group_weight)
            if text == NONE and iteration == 0:
                self._check_labelled(score)
            scores.append(score)
        return scores

    def outcomes(self, instruction: str, iteration: int | None) -> pl.DataFrame:
        where = "final" if iteration is None else f"round-{iteration:03d}"
        prompts = self.prompts.final if iteration is None else self.prompts.rounds[iteration]
        self.made += not self.trials.is_there(instruction, where)
        return self.trials.outcomes(instruction, prompts, where)

    def reword(self, instructions: Sequence[str], iteration: int) -> list[list[str]]:
        """Return the reviser's rewordings, stored ones if they exist: a served reviser may give others next time."""
        path = self.folder / "rewordings" / f"round-{iteration:03d}.json"
        if path.is_file():
            stored = read_json(path, "Delete the file: they are then made again.")
            if [one["instruction"] for one in stored] == list(instructions):
                return [list(one["rewordings"]) for one in stored]
            raise DataError(
                f"{path} contains rewordings of other instructions.",
                "Delete the file. The rewordings are then created again.",
            )
        # a different seed each round, so that an instruction that is kept gets new rewordings
        seed = derived_seed(self.config.audit.seed, f"rewording {iteration}")
        with self.trials.in_flight():
            rewordings = self.reviser.reword(instructions, self.config.variants, seed)
        pairs = zip(instructions, rewordings, strict=True)
        write_json(path, [{"instruction": text, "rewordings": new} for text, new in pairs])
        return rewordings

    def _check_labelled(self, score: Score) -> None:
        rows = score.n + score.n_missing
        if score.n_missing > MOST_UNJUDGED * rows:
            raise ModelError(
                f"{score.n_missing:,} of {rows:,} responses without an instruction have no label (negative or "
                "not), so there is nothing to search by.",
                "Use a classifier that labels texts as harmful (`evenhand list classifiers`), or check the errors "
                f"in {self.trials.folder}.",
            )


def _choose_labelling(selection: Selection, role: str | None) -> Labelling:
    if len(selection.benchmarks) != 1:
        names = ", ".join(benchmark.name for benchmark in selection.benchmarks)
        raise UsageError(
            f"`search-instruction` requires exactly one benchmark, but {len(selection.benchmarks)} are selected: "
            f"{names}.",
            "Choose one with --benchmark, and test the resulting instruction on the others afterwards.",
        )
    by_role = {labelling.role: labelling for labelling in selection.labellings}
    name = selection.benchmarks[0].name
    if not by_role:
        raise UsageError(
            f"{name} has no classified responses, so there is nothing to search by.",
            "Choose a benchmark with a classifier, such as toxigen (`evenhand list benchmarks`).",
        )
    if role is None and len(by_role) > 1:
        raise UsageError(
            f"{name} has several classifier roles ({', '.join(by_role)}), but the search optimises one.",
            f"For example: --role {next(iter(by_role))}",
        )
    if role is not None and role not in by_role:
        raise unknown_name("role", role, by_role)
    return by_role[role] if role else next(iter(by_role.values()))


def _facts(
    config: RevisionConfig,
    labelling: Labelling,
    prompts: RevisionPrompts,
    trials: Trials,
    reviser: Reviser,
    result: InstructionSearch,
) -> dict[str, Any]:
    tried = {step.instruction for step in result.steps if step.score and step.instruction != NONE}
    return {
        "model": config.audit.model,
        "benchmark": labelling.benchmark,
        "role": labelling.role,
        "classifier": labelling.classifier,
        "reviser": _name_reviser(reviser),
        "decoding": trials.decoding.parameters(),
        "greedy": trials.decoding.is_greedy,
        "iterations": config.iterations,
        "keep": config.keep,
        "variants": config.variants,
        "instructions_tried": len(tried),
        "prompts_a_round": prompts.subset,
        "prompts_final": len(prompts.final),
        "balanced_over": list(prompts.strata),
        "group_weight": config.group_weight,
        "alpha": config.audit.alpha,
        "seed": config.audit.seed,
        "evenhand": VERSION,
    }


def _name_reviser(reviser: Reviser) -> str:
    facts = reviser.fingerprint
    model = facts.get("model", {})
    return str(facts.get("name") or model.get("name") or type(reviser).__name__)
