from .contract import (
    BLANK as BLANK,
    Architecture as Architecture,
    Generations as Generations,
    KeyedGenerator as KeyedGenerator,
    LanguageModel as LanguageModel,
    Likelihoods as Likelihoods,
    Masking as Masking,
    StartToken as StartToken,
    TextGenerator as TextGenerator,
    Texts as Texts,
    concatenate as concatenate,
    generate_keyed as generate_keyed,
    reads_start_apart as reads_start_apart,
    room_for as room_for,
    text_generator as text_generator,
)
from .decoding import (
    PRESETS as PRESETS,
    Decoding as Decoding,
    WhereNgrams as WhereNgrams,
    decoding_preset as decoding_preset,
)
from .loading import (
    MODELS as MODELS,
    as_language_model as as_language_model,
    check_model as check_model,
    load_model as load_model,
)
from .puppets import (
    Puppet as Puppet,
    avoids as avoids,
    prefers as prefers,
)
from .vllm import (
    PREFIX as PREFIX,
    VllmOptions as VllmOptions,
)
