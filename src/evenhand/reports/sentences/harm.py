"""Sentences on harm before and after a mitigation: whether it fell, why, and what that cost."""

from collections.abc import Sequence

from evenhand.reports.sentences.slots import capitalised, count, name_list

HEADLINES = {
    "fell": "Harm fell",
    "shorter": "Harm fell",
    "less varied": "Harm fell",
    "partly sameness": "Harm fell, partly because the model now gives many prompts the same response",
    "sameness": "Harm fell because the model now gives many prompts the same response",
    "partly silence": "Harm fell, partly because the model gave more empty or refused responses",
    "silence": "Harm fell because the model gave more empty or refused responses, not because its text improved",
    "not detected": "No change in harm detected",
    "rose": "Harm rose",
    "not measurable": "Change in harm not measurable",
}
"""Headline for each type of change (see `evenhand.studies.before_after.harm.HarmVerdict`)."""
COSTS = {
    "silent": "more often empty or refused",
    "same": "often identical",
    "less varied": "far less varied",
    "shorter": "much shorter",
}
"""Words for each side effect on the responses if harm fell."""
NO_CHANGE_OF_TEXT = "No change in length, repetition or perplexity was detected."
NO_PAIR = "No prompt has a classified response of both models."
NO_SPOKEN_PAIR = "In no pair do both responses have text, so whether the text improved is not measurable."
NONE_SILENT = "Neither model gave an empty or refused response."
NOT_CLASSIFIED = "No responses of both models were classified, so harm is not measurable."
ONLY_LIKELIHOODS = "These benchmarks compare likelihoods: no text was generated or classified."
ALL_RESPONSES = "over all responses"
"""Note that harm is first computed across all responses, in which an empty response counts as harmless."""


def dearer(measures: Sequence[tuple[str, str]]) -> str:
    """Return a text on which perplexities rose. measures: names with their factors.

    >>> dearer([("perplexity of its own text", "2.6")])
    'perplexity of its own text is 2.6 times as high'
    """
    return name_list([f"{name} is {factor} times as high" for name, factor in measures], len(measures))


def headline(kind: str, costs: Sequence[str], price: str, among_classified: str) -> str:
    """Return a sentence, without full stop, on how harm changed, and at what cost.

    kind: a key of HEADLINES. costs: values of COSTS. price: text on perplexity, or "". among_classified: verdict among
    classified responses if it differs from that across all responses, otherwise "".
    """
    text = HEADLINES[kind]
    paid = [f"responses are {name_list(costs, len(costs))}"] if costs else []
    paid += [price] if price else []
    if paid:
        text += f", at a cost: {', and '.join(paid)}"
    if among_classified:
        text += f" ({ALL_RESPONSES}; among the classified ones: {among_classified})"
    return text


def from_to_points(before: str, after: str, change: str, interval: str) -> str:
    """Return "from 27% to 5% (−22 points, 95% CI −27 to −17)"."""
    return f"from {before} to {after} ({change}{f', {interval}' if interval else ''})"


def harm(verb: str, change: str) -> str:
    """Return a sentence on how harm changed in all responses. change: text of `from_to_points`."""
    return f"{capitalised(ALL_RESPONSES)} it {verb} {change}."


def detectable(size: str) -> str:
    """Return a sentence on the minimum detectable change.

    size: the change as text. It is "" if nearly all responses are classified as before.
    """
    if size:
        return f"This study had 80% power to detect a change of {size} or more."
    return "The responses to nearly all prompts are classified as before."


def too_few_prompts(change: str) -> str:
    """Return a sentence on a change in harm for which there are too few prompts to compute a CI."""
    return f"{capitalised(ALL_RESPONSES)} it changed {change}. There are too few prompts for a confidence interval."


def among_classified(pairs: int, change: str, verdict: str) -> str:
    """Return a sentence on the change of harm among classified responses, including empty ones."""
    return f"Among the classified responses, empty or not ({count(pairs, 'pair')}), it changed {change}: {verdict}."


def silence(change: str, verdict: str, part: str = "") -> str:
    """Return a sentence on the change of empty or refused responses.

    part: part of the change in harm that these responses account for, such as "6.0 points of the 22".
    """
    accounts = f" These account for {part}." if part else ""
    return f"Empty or refused responses changed {change}: {verdict}.{accounts}"


def spoken(pairs: int, change: str, verdict: str) -> str:
    """Return a sentence on the change of harm in pairs in which both responses have text."""
    return f"Where both responses have text ({count(pairs, 'pair')}), harm changed {change}: {verdict}."


def same_response(after: str, before: str, elsewhere: tuple[int, str, str] | None) -> str:
    """Return sentences on the percentage of prompts with the same response, and on the change in the other prompts.

    elsewhere: (number of pairs, change, verdict) of the other prompts; None if there is no such pair.
    """
    start = f"The same response is given to {after}% of the prompts (before: {before}%)."
    if elsewhere is None:
        return f"{start} In no pair do both models give another response."
    pairs, change, verdict = elsewhere
    return f"{start} Elsewhere ({count(pairs, 'pair')}) harm changed {change}: {verdict}."


def unclassified(pairs: int) -> str:
    """Return a sentence on the number of pairs that could not be classified."""
    return f"{count(pairs, 'pair')} could not be classified and {'is' if pairs == 1 else 'are'} not counted."


def text_changed(changes: Sequence[str]) -> str:
    """Return a sentence that lists the changes of text quality, or states that none was detected."""
    return f"Text: {'; '.join(changes)}." if changes else NO_CHANGE_OF_TEXT
