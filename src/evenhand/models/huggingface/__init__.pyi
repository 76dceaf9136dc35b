from .causal import (
    CausalModel as CausalModel,
    CausalOptions as CausalOptions,
    chat_prompts as chat_prompts,
    check_chat_template as check_chat_template,
    start_tokens as start_tokens,
)
from .encoder_decoder import (
    EncoderDecoderModel as EncoderDecoderModel,
    EncoderDecoderOptions as EncoderDecoderOptions,
)
from .masked import (
    MaskedModel as MaskedModel,
    MaskedOptions as MaskedOptions,
)
from .pretrained import (
    load_config as load_config,
    load_pretrained as load_pretrained,
    weights_fingerprint as weights_fingerprint,
)
from .steered_scoring import (
    Groups as Groups,
    scores as scores,
)
