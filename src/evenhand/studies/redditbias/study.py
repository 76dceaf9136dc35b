"""The declaration of the study of redditbias."""

from evenhand.studies import redditbias
from evenhand.study import Study

REDDITBIAS = Study(
    verb="study redditbias",
    argument="model",
    argument_help="Causal Hugging Face model (name or folder) or evenhand/reference. To resume a study, give its "
    "folder.",
    help="""Study debiasing methods on RedditBias: bias, perplexity, state tracking and responses, before and after.

The model is trained with each method against each bias, and without a method on the same texts (control).
The report shows Language Model Bias and perplexity, and both dialogue tasks if their data are given, each
with a confidence interval, a null value and the change. Requires the extra `training`. Press Ctrl-C to
stop; `evenhand study redditbias FOLDER` resumes the study.

\b
Examples:
  evenhand study redditbias gpt2 --bias evenhand/religion --methods cda -o runs/redditbias
  evenhand study redditbias gpt2 --bias religion1,race --methods lmd,cda
""",
    options=lambda: redditbias.RedditBiasConfig,
    perform=lambda: redditbias.perform_redditbias,
)
