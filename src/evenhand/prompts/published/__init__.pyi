from .realtoxicityprompts import (
    OWNERS_FILE as OWNERS_FILE,
    load_realtoxicityprompts as load_realtoxicityprompts,
)
from .stereoset import (
    load_stereoset as load_stereoset,
)
from .wikitext import (
    FILES as FILES,
    load_wikitext as load_wikitext,
)
