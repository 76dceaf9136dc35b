from .applying import (
    Broken as Broken,
    broken_rules as broken_rules,
    excluded as excluded,
)
