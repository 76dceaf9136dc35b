from .parroting import copied as copied, refused as refused
from .tokens import words as words
