"""Published scales: SDO7."""

from evenhand.annotation.definition.study import Scale, Statement

SDO7: tuple[Statement, ...] = ()
"""The 16 statements of Ho et al. 2015 (JPSP 109), as printed in Smith & Williams 2021, Table 12; 8 reversed."""


def statements_of(scale: Scale) -> tuple[Statement, ...]:
    """A scale's statements, its own or the published ones it names."""
    raise NotImplementedError
