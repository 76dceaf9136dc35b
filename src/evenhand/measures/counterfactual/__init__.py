"""What answers to counterfactual prompts show: the same prompt about several groups, asked several times.

The benchmark calls ONE function: `counterfactual_outcomes(frame, ["similarity", "length", "refusal", "rating:1-10",
"json:score"], n_axes=..., alpha=..., seed=..., embed=..., hidden=...)`. It returns `CounterfactualOutcomes`, whose
`rows()` are its Measurements and whose `details` its detail tables; sentences are made from both by
`evenhand.benchmarks.analysis.outcome_headlines`. Outcomes are written as `outcome_of` reads them; labels of
classifiers are compared by `analyse_group_rates(frame, options, role=..., cluster="base")`, as every other
benchmark's.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
