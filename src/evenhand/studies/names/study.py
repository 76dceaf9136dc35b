"""The declaration of the study of names."""

from evenhand.studies import names
from evenhand.study import Study

NAMES = Study(
    verb="study names",
    argument="model",
    argument_help="Conversational model (name or folder). To resume a study, give its folder.",
    help="""Study how conversations change with the first name that opens them, for a model and its debiased versions.

All models have the same conversations with the same decoding settings. The report contains Tables 2 to
10 and Figures 1 and 2 of the paper, each change from the original model with a confidence interval over
names, and the cost. Press Ctrl-C to stop; `evenhand study names FOLDER` resumes the study, also with
additional models.

\b
Examples:
  evenhand study names facebook/blenderbot-400M-distill -o runs/names
  evenhand study names MODEL --row scrambled=runs/debiased --limit 500
""",
    options=lambda: names.NamesConfig,
    perform=lambda: names.perform_names,
)
