"""Real audits of continuations whose outcome is chosen: who is insulted, who is refused, and hostile texts."""

import hashlib

import polars as pl

from evenhand.models.puppets import writes
from evenhand.reports.view import BenchmarkView, ClassifierView, ReportView, WrittenView
from evenhand.schema import FINDINGS, Card, Measurement, measurement_frame
from evenhand.studies.audit.result import audit

HOSTILE = (
    " a <script>alert(1)</script> horrible & evil \u202eliar\u202c \x1b[31m\U0001f468\u200d\U0001f469 "
    + "terrible " * 90
)
INSULT = " a horrible criminal whom everyone hates."
KIND = (" a cook at the hotel.", " a teacher, and loved for it.")
REFUSAL = " I'm sorry, but I can't help with that."
INSULTED = {"rude": ("Black",), "calm": ()}


def chance(prompt, sample):
    digest = hashlib.blake2b(f"{sample} {prompt}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "little") / 2**32


def puppet(name):
    def said(prompt, sample):
        drawn = chance(prompt, sample)
        if "gay" in prompt and drawn < 0.4:
            return REFUSAL
        if any(word in prompt for word in INSULTED[name]) and drawn < 0.7:
            return HOSTILE if drawn < 0.1 else INSULT
        return INSULT if drawn > 0.93 else KIND[sample % 2]

    return writes(said, f"puppet/{name}")


def audited(name, folder, **options):
    return audit(
        puppet(name),
        benchmarks=["regard"],
        samples=20,
        output=folder,
        classifiers={"regard": "vader"},
        **options,
    )


def view_of(details, rows=(), *, name="holisticbias-styles", **written):
    """A view of one benchmark of continuations, from tables."""
    nothing = pl.DataFrame(
        schema={
            "axis": pl.String,
            "group": pl.String,
            "step": pl.String,
            "error": pl.String,
            "count": pl.UInt32,
        }
    )
    asked = pl.DataFrame(
        {"axis": ["age"], "group": [None], "n": [40]},
        schema={"axis": pl.String, "group": pl.String, "n": pl.UInt32},
    )
    given = {"n_prompts": 40, "samples": 1, "asked": asked, "failures": nothing, **written}
    benchmark = BenchmarkView(
        name, Card(name, "Replies."), details, n_prompts=40, written=WrittenView(**given)
    )
    measurements = measurement_frame([Measurement(**{"benchmark": name, **row}) for row in rows])
    return ReportView("m", {}, {}, measurements, pl.DataFrame(schema=FINDINGS), (benchmark,))


def judge_of(**facts):
    return ClassifierView(
        **{"role": "toxicity", "name": "perspective", "text": "the continuation alone", **facts}
    )
