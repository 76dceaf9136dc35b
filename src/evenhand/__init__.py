"""evenhand: measure social bias in language models, with a confidence interval and a verdict for each number.

    import evenhand as eh

    run = eh.audit("gpt2", suite="quick")   # or a folder, or a model in memory
    run.findings                            # a Polars frame of verdicts
    run.report()                            # writes report.html and returns its path

Names are imported when they are first used (`__init__.pyi` lists their modules), so `import evenhand` is fast.
"""

from typing import Any

import lazy_loader

_named, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
_RENAMED = {"check": "check_consistency", "revise": "search_instruction", "measure_file": "measure"}


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        raise AttributeError(f"evenhand.{name} is called evenhand.{_RENAMED[name]}.")
    return _named(name)
