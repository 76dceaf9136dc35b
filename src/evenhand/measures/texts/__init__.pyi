from .parroting import refused as refused
from .tokens import words as words
