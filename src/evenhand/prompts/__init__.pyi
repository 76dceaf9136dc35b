from .holisticbias.sentences import (
    HolisticBias as HolisticBias,
)
from .language.composer import (
    compose as compose,
    compose_intersections as compose_intersections,
)
from .language.templates import (
    Template as Template,
    load_templates as load_templates,
)
from .lexicon import (
    Lexicon as Lexicon,
    load_lexicon as load_lexicon,
)
from .own_files.prompts import (
    read_prompts as read_prompts,
    read_responses as read_responses,
)
from .personas import (
    behind_personas as behind_personas,
    between_personas as between_personas,
    read_personas as read_personas,
)
from .prompt_set import (
    PromptSet as PromptSet,
)
from .sampling import (
    row_keys as row_keys,
    uniforms as uniforms,
)
