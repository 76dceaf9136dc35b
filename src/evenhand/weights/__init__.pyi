from .batching import (
    Budget as Budget,
    Ints as Ints,
    is_out_of_memory as is_out_of_memory,
    release_memory as release_memory,
    run_batches as run_batches,
)
from .checkpoint import (
    INDEX as INDEX,
    ONE_FILE as ONE_FILE,
    Checkpoint as Checkpoint,
    find_checkpoint as find_checkpoint,
    folder_fingerprint as folder_fingerprint,
    load_config as load_config,
    load_weights as load_weights,
    memory_needed as memory_needed,
    stored_parameters as stored_parameters,
    weight_files as weight_files,
)
from .devices import (
    available_memory as available_memory,
    check_device as check_device,
    check_table_fits as check_table_fits,
    processor_memory as processor_memory,
    resolve_device as resolve_device,
    resolve_dtype as resolve_dtype,
    return_free_memory as return_free_memory,
)
from .extra import (
    has_hugging_face as has_hugging_face,
    need_hugging_face as need_hugging_face,
    refuse_light as refuse_light,
)
from .fast_layers import (
    FastLayers as FastLayers,
)
from .hub import (
    hub_errors as hub_errors,
    is_offline as is_offline,
    quiet_transformers as quiet_transformers,
)
from .precision import (
    in_float32 as in_float32,
)
from .soundness import (
    check_finite as check_finite,
)
from .tokenizer import (
    check_token_ids as check_token_ids,
    check_tokenizer as check_tokenizer,
    load_tokenizer as load_tokenizer,
    tokenizer_fingerprint as tokenizer_fingerprint,
)
