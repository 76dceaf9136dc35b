from .allocation import marginal_rate as marginal_rate
from .pairs import simulated_votes as simulated_votes
from .people import (
    Population as Population,
    SimulatedPerson as SimulatedPerson,
)
from .ratings import simulated_ratings as simulated_ratings
from .sitting import (
    Sat as Sat,
    simulate as simulate,
    sit as sit,
)
from .surveys import simulated_survey as simulated_survey
