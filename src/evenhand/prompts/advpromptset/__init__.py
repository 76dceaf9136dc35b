"""AdvPromptSet, extracted from a user's own Jigsaw downloads, and the stages of its
construction that were never released.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
