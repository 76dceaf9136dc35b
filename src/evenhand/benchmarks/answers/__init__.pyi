from .beside import BESIDE as BESIDE
from .design import AnswerDesign as AnswerDesign, build_design as build_design
from .interaction_sentences import interaction_directions as interaction_directions
from .recipe import BENCHMARK as BENCHMARK, NUMBER as NUMBER, ROLE as ROLE
