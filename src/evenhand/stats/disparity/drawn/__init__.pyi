from .design import (
    SimulationDesign as SimulationDesign,
    rates_of_prompts as rates_of_prompts,
    simulated_values as simulated_values,
    variance_of_difference as variance_of_difference,
)
from .testing import SimulatedTests as SimulatedTests, simes_of_rows as simes_of_rows
