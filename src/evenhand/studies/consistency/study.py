"""The declaration of the consistency check."""

from evenhand.studies import consistency
from evenhand.study import Study

CONSISTENCY = Study(
    verb="check-consistency",
    argument="method",
    argument_help="Mitigation, in the format of --mitigate (NAME, NAME=VALUE, NAME?option=value). To resume a check, "
    "give its folder.",
    help="""Check a mitigation for consistency: does it work for the reason that its wording states?

Polarity: the opposite wording has the opposite effect. Importance: nonsense wording has a smaller effect.
Transfer: the effect also appears on neutral prompts. The model answers the same prompts with the method's
own wording, with the opposite, with nonsense and without any. The results are a table and a page in the
study folder. Press Ctrl-C to stop; `evenhand check-consistency STUDY_FOLDER` resumes the study. You can
then change --classifier, --rule, --importance or --margin without running the model again.

\b
Examples:
  evenhand check-consistency prefix="Be respectful." --model gpt2
  evenhand check-consistency instruction=respect --model gpt2 --neutral none --limit 200
""",
    options=lambda: consistency.CheckOptions,
    perform=lambda: consistency.perform_check,
    plan=lambda: consistency.print_plan,
    plan_help="Print what would run and its cost, then exit. Runs a short probe (about ten requests to a served "
    "model).",
)
