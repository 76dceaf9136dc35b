"""evenhand: measures social bias in language models, and says how far each number can be believed.

    import evenhand as eh

    run = eh.audit("gpt2", suite="quick")   # or a folder, or a model in memory
    run.findings                            # a Polars frame of verdicts
    run.report()                            # writes report.html and returns its path

Names are imported when first used (`__init__.pyi` says from where): `import evenhand` itself takes no time.
"""

from typing import Any

import lazy_loader

_named, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
_RENAMED = {"check": "check_consistency", "revise": "search_instruction"}


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        raise AttributeError(f"evenhand.{name} is called evenhand.{_RENAMED[name]}.")
    return _named(name)
