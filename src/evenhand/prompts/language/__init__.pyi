from .composer import (
    CONVERSATIONAL as CONVERSATIONAL,
    compose as compose,
)
from .templates import (
    Template as Template,
    load_templates as load_templates,
)
