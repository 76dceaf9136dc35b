"""The search for a trigger from prompts to file: its options, and its front door."""

from evenhand.studies.search_trigger.conduct import (
    search_trigger as search_trigger,
    search_trigger_with as search_trigger_with,
)
from evenhand.studies.search_trigger.options import TriggerSearch as TriggerSearch
