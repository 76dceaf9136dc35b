"""Continuing prompts, by beam search or token by token, as a decoding says."""

from evenhand.models.contract import Generations
from evenhand.models.decoding import Decoding
from evenhand.models.writing.beams import write_with_beams
from evenhand.models.writing.inputs import Prompts
from evenhand.models.writing.steering import Steering
from evenhand.models.writing.writer import Writer


def continue_prompts(
    writer: Writer, prompts: Prompts, decoding: Decoding, steering: Steering | None = None
) -> Generations:
    """Continue every prompt that has no error.

    steering: combine distributions; the prompts then hold their tokens behind each context too. Raises Unsupported for
    steering a model whose rows must all be equally long.
    """
    if decoding.searches:
        return write_with_beams(writer, writer.task(prompts, decoding, steering))
    return writer.draw(prompts, decoding, steering)
