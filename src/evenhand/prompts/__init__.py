"""What we say: lexicon x templates, published prompt sets, and a user's own files."""

from evenhand.prompts.holisticbias.sentences import HolisticBias as HolisticBias
from evenhand.prompts.language.composer import (
    compose as compose,
    compose_intersections as compose_intersections,
)
from evenhand.prompts.language.templates import Template as Template, load_templates as load_templates
from evenhand.prompts.lexicon import Lexicon as Lexicon, load_lexicon as load_lexicon
from evenhand.prompts.own_files.prompts import read_prompts as read_prompts, read_responses as read_responses
from evenhand.prompts.prompt_set import PromptSet as PromptSet
