from .family import (
    TOLD as TOLD,
    own_format as own_format,
    trained_format as trained_format,
)
from .gathering import (
    error_generations as error_generations,
    join_generations as join_generations,
)
from .history import (
    History as History,
    Speaker as Speaker,
)
from .model import (
    Dialogue as Dialogue,
    dialogue_model as dialogue_model,
)
from .options import (
    DialogueOptions as DialogueOptions,
    FormatName as FormatName,
    PersonaLayout as PersonaLayout,
)
from .tokens import (
    Cutter as Cutter,
)
