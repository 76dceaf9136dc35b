from .paired_votes import PairedVotes as PairedVotes
from .rated_texts import RatedTexts as RatedTexts
