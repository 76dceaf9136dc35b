"""evenhand: measures social bias in language models, and says how far each number can be believed.

    import evenhand as eh

    run = eh.audit("gpt2", suite="quick")   # or a folder, or a model in memory
    run.findings                            # a Polars frame of verdicts
    run.report()                            # writes report.html and returns its path

Names are imported when first used: `import evenhand` itself takes no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand import measures as measures, mitigations as mitigations, stats as stats
    from evenhand.classifiers.loading import load_classifier as load_classifier
    from evenhand.models.loading import as_language_model as as_language_model, load_model as load_model
    from evenhand.prompts.holisticbias.sentences import HolisticBias as HolisticBias
    from evenhand.prompts.language.composer import compose as compose
    from evenhand.prompts.lexicon import Lexicon as Lexicon, load_lexicon as load_lexicon
    from evenhand.prompts.own_files.prompts import read_prompts as read_prompts
    from evenhand.prompts.prompt_set import PromptSet as PromptSet
    from evenhand.schema.errors import EvenhandError as EvenhandError
    from evenhand.studies.audit.run import (
        Run as Run,
        audit as audit,
        open_run as open_run,
        rescore as rescore,
    )
    from evenhand.studies.before_after.result import (
        BeforeAfterReport as BeforeAfterReport,
        before_after as before_after,
    )
    from evenhand.studies.compare.result import ComparisonReport as ComparisonReport, compare as compare
    from evenhand.studies.consistency.result import Checked as Checked, check as check
    from evenhand.studies.own_responses.result import measure_file as measure_file
    from evenhand.studies.revise.conduct import Revision as Revision
    from evenhand.studies.revise.page import revise as revise
    from evenhand.studies.search_trigger import search_trigger as search_trigger

_WHERE = {
    "measures": "evenhand.measures",
    "mitigations": "evenhand.mitigations",
    "load_classifier": "evenhand.classifiers.loading",
    "stats": "evenhand.stats",
    "as_language_model": "evenhand.models.loading",
    "load_model": "evenhand.models.loading",
    "compose": "evenhand.prompts.language.composer",
    "HolisticBias": "evenhand.prompts.holisticbias.sentences",
    "Lexicon": "evenhand.prompts.lexicon",
    "load_lexicon": "evenhand.prompts.lexicon",
    "PromptSet": "evenhand.prompts.prompt_set",
    "read_prompts": "evenhand.prompts.own_files.prompts",
    "Run": "evenhand.studies.audit.run",
    "audit": "evenhand.studies.audit.run",
    "measure_file": "evenhand.studies.own_responses.result",
    "open_run": "evenhand.studies.audit.run",
    "rescore": "evenhand.studies.audit.run",
    "before_after": "evenhand.studies.before_after.result",
    "BeforeAfterReport": "evenhand.studies.before_after.result",
    "check": "evenhand.studies.consistency.result",
    "Checked": "evenhand.studies.consistency.result",
    "compare": "evenhand.studies.compare.result",
    "ComparisonReport": "evenhand.studies.compare.result",
    "revise": "evenhand.studies.revise.page",
    "Revision": "evenhand.studies.revise.conduct",
    "search_trigger": "evenhand.studies.search_trigger",
    "EvenhandError": "evenhand.schema.errors",
}
__all__ = ["__version__", *_WHERE]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from evenhand.schema.version import VERSION

        return VERSION
    if name not in _WHERE:
        raise AttributeError(f"module 'evenhand' has no attribute {name!r}")
    module = import_module(_WHERE[name])
    return module if _WHERE[name] == f"evenhand.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
