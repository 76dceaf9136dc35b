from .response_generation import (
    ResponseOptions as ResponseOptions,
    generate_responses as generate_responses,
)
from .state_tracking import (
    TrackingOptions as TrackingOptions,
    track_states as track_states,
)
