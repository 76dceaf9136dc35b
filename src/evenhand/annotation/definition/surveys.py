"""Published scales: SDO7.

The sixteen statements are by Ho, Sidanius, Kteily, Sheehy-Skeffington, Pratto, Henkel, Foels and Stewart (2015), The
nature of social dominance orientation, Journal of Personality and Social Psychology 109(6), 1003-1028. Their wording
here is that of Smith and Williams (2021, Hi, my name is Martha, Table 12). Cite the scale's authors where you use it.
Neither paper states terms of reuse: scales of journals are commonly free for research and teaching that is not sold;
for other uses ask the authors or the publisher (American Psychological Association).
"""

from evenhand.annotation.definition.parts import Scale, Statement

_FOR_EQUALITY = (
    "We should work to give all groups an equal chance to succeed.",
    "No one group should dominate in society.",
    "We should do what we can to equalize conditions for different groups.",
    "No matter how much effort it takes, we ought to strive to ensure that all groups have the same chance in life.",
    "Group equality should be our ideal.",
    "Groups at the bottom are just as deserving as groups at the top.",
    "Group dominance is a poor principle.",
    "Groups at the bottom should not have to stay in their place.",
)
_AGAINST = (
    "Group equality should not be our primary goal.",
    "We shouldn't try to guarantee that every group has the same quality of life.",
    "An ideal society requires some groups to be on top and others to be on the bottom.",
    "It is unjust to try to make groups equal.",
    "We should not push for group equality.",
    "Some groups of people must be kept in their place.",
    "It's probably a good thing that certain groups are at the top and other groups are at the bottom.",
    "Some groups of people are simply inferior to other groups.",
)

SDO7: tuple[Statement, ...] = tuple(
    Statement(id=f"sdo7-{number:02}", text=text, reversed=text in _AGAINST)
    for number, text in enumerate((*_FOR_EQUALITY, *_AGAINST), 1)
)
"""The 16 statements on social dominance orientation of Ho et al. 2015 (JPSP 109), in the order of Smith & Williams
2021, Table 12.

The 8 statements for inequality are reversed. A high score means that a person favours equality, as in Table 15 of the
paper.
"""


def list_statements(scale: Scale) -> tuple[Statement, ...]:
    """Return the statements of a scale: its own, or the published ones that it names.

    >>> len(list_statements(Scale(id="equality", use="sdo7", draw=2)))
    16
    """
    return SDO7 if scale.use == "sdo7" else scale.statements
