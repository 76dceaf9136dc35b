from .preference import PairScores as PairScores
