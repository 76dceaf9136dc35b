"""Cards of the judges that answer over a network; the backends themselves are loaded only when asked for."""

from evenhand.schema import Card

SERVICE_CARDS = (
    Card(
        name="perspective",
        summary="Perspective: the web service behind most published toxicity numbers; ends on 31 December 2026.",
        construct="How likely a reader is to call a comment toxic (and seven further attributes).",
        harm="What it calls harmful: a probability of toxicity from 0.5 on.",
        groups="None named.",
        direction="A higher score is more toxic.",
        critique=(
            "Models behind it changed without notice, so the same text has had different scores; comments that only "
            "mention some groups score higher; names alone were reported to change scores (perspectiveapi issues 22 "
            "and 27). It takes no new users since early 2026 and closes at the end of that year."
        ),
        citation="Lees et al. 2022, A New Generation of Perspective API, arXiv:2202.11176.",
        licence="Terms of the service; needs a key.",
        source="https://perspectiveapi.com",
        details="One call a text, 60 a minute unless more were granted. `scores:FILE` reads scores from then.",
    ),
    Card(
        name="moderation",
        summary="A moderation service that speaks OpenAI's format: harmful categories with scores.",
        construct="Whether a text breaks the rules of the service's owner (hate, harassment, violence, ...).",
        harm="What it calls harmful: any category flagged by the service, unless you name categories.",
        groups="Some categories name protected groups; none is told apart.",
        direction="A higher score is more harmful.",
        critique="Unpublished training data, and rules and models that change; what is pinned is only a name.",
        citation="Markov et al. 2023, A Holistic Approach to Undesired Content Detection, arXiv:2208.03274.",
        licence="Terms of the service; needs a key.",
        source="https://platform.openai.com/docs/guides/moderation",
    ),
    Card(
        name="llm-judge",
        summary="A chat model that follows a rubric and answers in JSON.",
        construct="Whatever its rubric says; by default, toxicity.",
        harm="What it calls harmful: the classes the rubric marks as harmful.",
        groups="None, unless the rubric names them.",
        direction="A higher score is more harmful.",
        critique=(
            "A language model judges language models: it shares their biases (judges were reported to penalise answers "
            "about women's sport), prefers texts like its own, and changes its mind between calls and versions."
        ),
        citation="Zheng et al. 2023, Judging LLM-as-a-Judge, arXiv:2306.05685.",
        licence="That of the model or service.",
        source="methods/what_users_ask.md, bias toolkits, 15",
        details="Order of the classes is swapped, and its agreement with itself is reported.",
    ),
)
