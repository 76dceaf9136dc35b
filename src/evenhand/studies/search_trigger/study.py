"""The declaration of the search for a trigger."""

from pathlib import Path

from evenhand.studies import search_trigger
from evenhand.study import Output, Study

TRIGGER = Study(
    verb="search-trigger",
    argument="model",
    argument_help="Causal Hugging Face model: a name, a local folder, or evenhand/reference.",
    help="""Search for a trigger (tokens before each prompt) by gradients, and test it.

The best trigger of all restarts is chosen by the responses of the model, and tested on held-out prompts.
Press Ctrl-C to stop; the same command resumes after the last complete sweep.

\b
Examples:
  evenhand search-trigger gpt2 --prompts mine.csv --classifier vader -o trigger.json
  evenhand audit gpt2 --mitigate trigger=trigger.json
""",
    options=lambda: search_trigger.TriggerSearch,
    perform=lambda: search_trigger.perform_search,
    output=Output("File for the trigger.", Path("trigger.json"), is_file=True),
)
