"""How the continuations of a consistency check are written: as published, as far as the model can."""

from collections.abc import Sequence

from evenhand.mitigations.contract import Mitigation
from evenhand.models.contract import LanguageModel, text_generator
from evenhand.models.decoding import Decoding, decoding_preset
from evenhand.schema import Unsupported
from evenhand.studies.consistency_options import CheckOptions
from evenhand.studies.decoding import ChosenDecoding

BEAMS = 3


def choose_decoding(options: CheckOptions, model: LanguageModel, method: Mitigation) -> ChosenDecoding:
    """How continuations are written at every level, and why so.

    "auto" is the published way for GPT-2: beam search with 3 beams, exactly 20 tokens; where the model or the method
    cannot search, the published way for text-davinci-003: greedy, up to 20 tokens. A family's name gives its sampling
    settings with one continuation a prompt. Raises Unsupported if model or method cannot write so.
    Source: methods/redditbias_selfdebias_consistency.md section 5.2.
    """
    tokens = options.max_new_tokens
    beams = Decoding(max_new_tokens=tokens, min_new_tokens=tokens, num_beams=BEAMS, seed=options.seed)
    greedy = Decoding(max_new_tokens=tokens, seed=options.seed)
    writers = [model, method(model)]
    if options.decoding == "auto":
        try:
            _try(writers, beams)
        except Unsupported as error:
            _try(writers, greedy)
            why = "as published for text-davinci-003, because beam search as for GPT-2 cannot be done here: "
            return ChosenDecoding(greedy, why + error.message.rstrip("."))
        return ChosenDecoding(beams, "as published for GPT-2")
    if options.decoding in ("beams", "greedy"):
        chosen = ChosenDecoding(beams if options.decoding == "beams" else greedy, "as asked")
    else:
        preset = decoding_preset(options.decoding, max_new_tokens=tokens, seed=options.seed)
        chosen = ChosenDecoding(preset, f"the published settings of {options.decoding}, as asked")
    _try(writers, chosen.decoding)
    return chosen


def _try(writers: Sequence[LanguageModel], decoding: Decoding) -> None:
    for writer in writers:
        # Asked for nothing: backends say before they begin what they cannot do.
        text_generator(writer).generate([], decoding)
