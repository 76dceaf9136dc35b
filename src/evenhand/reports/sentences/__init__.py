"""Write every verdict: templates with typed slots, used by the terminal, the HTML page, JSON and the model card.

`slots` formats the parts of a sentence (groups, rates, points, ratios, confidence intervals). The other modules put the
parts together, one module for each kind of measure or study.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
