"""The search for an instruction: rounds of rewording, screening and the final choice. It depends on no model, file
or run.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
