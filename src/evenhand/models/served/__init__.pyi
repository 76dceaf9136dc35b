from .model import (
    load_http_model as load_http_model,
)
from .options import (
    OPENAI_KEY as OPENAI_KEY,
    api_key as api_key,
    is_address as is_address,
    split_address as split_address,
    with_option as with_option,
)
