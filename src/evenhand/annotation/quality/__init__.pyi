from .applying import (
    Broken as Broken,
    apply_rules as apply_rules,
    broken_rules as broken_rules,
)
