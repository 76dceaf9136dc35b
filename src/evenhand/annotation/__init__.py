"""Human evaluation: build a study, show its texts to annotators in a web application, and analyse their judgements."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
