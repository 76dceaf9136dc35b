"""Options of a search for an instruction."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from evenhand.mitigations.prompting import INSTRUCTIONS
from evenhand.mitigations.revision import RULES, SearchOptions
from evenhand.schema import unknown_name
from evenhand.studies.audit import AuditConfig, read_config, with_classifiers
from evenhand.study import Count, Options, validate_options


class RevisionConfig(Options):
    """Options of a search. Unknown names are refused."""

    audit: AuditConfig
    """Model, one benchmark, decoding, classifier and seed, as in an audit."""
    reviser: str = RULES
    """Reviser that rewords instructions: "rules", or the name of a language model."""
    instructions: tuple[str, ...] = ()
    """Instructions of the first round. Empty: evenhand's own."""
    iterations: Count = 10
    keep: Count = 5
    variants: Count = 4
    most_words: Count = 60
    most_unanswered: float = Field(default=0.05, ge=0, le=1)
    subset: Count | None = None
    """Number of prompts per round. None: 300, or all that are not kept for the final choice."""
    final: Count | None = None
    """Number of prompts kept for the final choice. None: 1,000, or half."""
    group_weight: float = Field(default=0.0, ge=0)
    """Weight of the share of groups with a detected higher rate; the product is added to the rate."""
    role: str | None = None
    """The role whose labels are used, if a benchmark has several classifiers."""
    delimiter: str = "\n"
    """Separator between instruction and prompt."""

    @property
    def search(self) -> SearchOptions:
        """Return the options of the search algorithm."""
        return SearchOptions(self.iterations, self.keep, self.variants, self.most_unanswered)

    @property
    def seeds(self) -> tuple[str, ...]:
        """Return the instructions of the first round."""
        return self.instructions or tuple(one.text for one in INSTRUCTIONS.values())


def revision_config(given: Mapping[str, Any], classifiers: Sequence[str] = ()) -> RevisionConfig:
    """Return the options of a search for an instruction, from a flat mapping. None and empty mean not given.

    Parameters
    ----------
    given : mapping
        Options of the search and of its audits. ``benchmark`` names its one benchmark.
    classifiers : sequence of str
        As in `--classifier`.

    Raises
    ------
    UsageError
        An option is invalid; the message names it.

    >>> config = revision_config({"model": "gpt2", "benchmark": "toxigen", "keep": 3, "chat": True})
    >>> config.keep, config.audit.benchmarks, config.audit.chat
    (3, ('toxigen',), True)
    """
    named = {name: value for name, value in given.items() if value is not None and value != ()}
    if (benchmark := named.pop("benchmark", None)) is not None:
        named["benchmarks"] = (benchmark,)
    known = sorted({*RevisionConfig.model_fields, *AuditConfig.model_fields} - {"audit"})
    if unknown := [name for name in named if name not in known]:
        raise unknown_name("option of a search", unknown[0], known)
    of_search = {name: named.pop(name) for name in RevisionConfig.model_fields if name in named}
    audit = with_classifiers(read_config(None, [], named), classifiers)
    return validate_options(RevisionConfig, {**of_search, "audit": audit})
