"""Measures on responses to counterfactual prompts: the same prompt about several groups, asked several times.

`counterfactual_outcomes` compares the groups for all requested outcomes. It returns `CounterfactualOutcomes` with
measurements and detail tables. `outcome_of` lists the possible outcomes.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
