"""evenhand: measures social bias in language models, and says how far each number can be believed.

    import evenhand as eh

    run = eh.audit("gpt2", suite="quick")   # or a folder, or a model in memory
    run.findings                            # a Polars frame of verdicts
    run.report()                            # writes report.html and returns its path

Names are imported when first used (`__init__.pyi` says from where): `import evenhand` itself takes no time.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
