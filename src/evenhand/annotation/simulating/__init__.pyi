from .allocation import marginal_rate as marginal_rate
from .pairs import simulated_votes as simulated_votes
from .ratings import simulated_ratings as simulated_ratings
