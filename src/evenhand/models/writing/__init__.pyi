from .beams import (
    continue_prompts as continue_prompts,
)
from .constraints import (
    Constraints as Constraints,
)
from .inputs import (
    Prompts as Prompts,
    cache_bytes as cache_bytes,
    encode_prompts as encode_prompts,
    encode_steered as encode_steered,
    end_tokens as end_tokens,
    prompts_of_ids as prompts_of_ids,
    room_within as room_within,
    tokens_around as tokens_around,
)
from .kept_states import (
    KeptStates as KeptStates,
)
from .rows import (
    Reader as Reader,
    Row as Row,
    RowRules as RowRules,
    collect_rows as collect_rows,
    continuation_key as continuation_key,
    first_stop as first_stop,
    row_uniforms as row_uniforms,
)
from .state import (
    CausalState as CausalState,
    EncoderDecoderState as EncoderDecoderState,
    pad_rows as pad_rows,
)
from .steered_state import (
    common_beginnings as common_beginnings,
)
from .steering import (
    CombinationRule as CombinationRule,
    SteerableModel as SteerableModel,
    Steering as Steering,
    steerable as steerable,
)
from .ways import (
    ways_of_causal as ways_of_causal,
)
from .writer import (
    Writer as Writer,
)
