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
    from evenhand.reports.audit import (
        Run as Run,
        audit as audit,
        open_run as open_run,
        rescore as rescore,
    )
    from evenhand.reports.before_after import (
        BeforeAfterReport as BeforeAfterReport,
        before_after as before_after,
    )
    from evenhand.reports.comparison import ComparisonReport as ComparisonReport, compare as compare
    from evenhand.reports.consistency import Checked as Checked, check as check
    from evenhand.reports.measured_file import measure_file as measure_file
    from evenhand.reports.revision import revise as revise
    from evenhand.schema.errors import EvenhandError as EvenhandError
    from evenhand.studies.prompt_revision import Revision as Revision
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
    "Run": "evenhand.reports.audit",
    "audit": "evenhand.reports.audit",
    "measure_file": "evenhand.reports.measured_file",
    "open_run": "evenhand.reports.audit",
    "rescore": "evenhand.reports.audit",
    "before_after": "evenhand.reports.before_after",
    "BeforeAfterReport": "evenhand.reports.before_after",
    "check": "evenhand.reports.consistency",
    "Checked": "evenhand.reports.consistency",
    "compare": "evenhand.reports.comparison",
    "ComparisonReport": "evenhand.reports.comparison",
    "revise": "evenhand.reports.revision",
    "Revision": "evenhand.studies.prompt_revision",
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
