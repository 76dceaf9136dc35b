from .prompts import (
    as_asked as as_asked,
    asked_about_groups as asked_about_groups,
    own_prompts as own_prompts,
)
from .talking import (
    asked_for_replies as asked_for_replies,
    make_speaker as make_speaker,
    told_alike as told_alike,
    weights_behind as weights_behind,
)
