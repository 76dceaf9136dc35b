"""Names of the levels, domains and decision rules of the consistency protocol. Imports nothing that computes."""

from typing import Literal

LEVELS = ("default", "original", "opposite", "nonsensical", "blank")
CONTROLS = ("nonsensical", "blank")
DOMAINS = ("adversarial", "neutral")
Rule = Literal["tested", "strict", "paper"]
RULES: tuple[Rule, ...] = ("tested", "strict", "paper")
Importance = Literal["share", "points"]
"""How a control is compared with the original wording: with half of its effect ("share"), or with its effect minus a
margin ("points").
"""
