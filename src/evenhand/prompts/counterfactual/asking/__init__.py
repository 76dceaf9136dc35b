"""Your own prompts, each asked about several groups: the counterfactual texts, what is left out, and the review
file.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
