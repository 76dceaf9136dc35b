from .contract import (
    Analysis as Analysis,
    AnalysisOptions as AnalysisOptions,
    Benchmark as Benchmark,
    ClassifierRole as ClassifierRole,
    Conversation as Conversation,
    EffectUnit as EffectUnit,
    Generation as Generation,
    Headline as Headline,
    SelfChatDecoding as SelfChatDecoding,
    Suite as Suite,
)
from .judged_analysis import (
    JudgedAnalysis as JudgedAnalysis,
    headline_frame as headline_frame,
    judge_responses as judge_responses,
    judged_rows as judged_rows,
)
from .registry import (
    COLLECTIONS as COLLECTIONS,
    RECIPES as RECIPES,
    SUITES as SUITES,
    benchmark_names as benchmark_names,
    load_benchmark as load_benchmark,
    load_suite as load_suite,
    suite_names as suite_names,
)
