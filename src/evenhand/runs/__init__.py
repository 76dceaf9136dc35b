"""The engine and the record: plan, requests, shards, labels, resume, manifest, run directory."""

from evenhand.runs.continuation_rows import (
    continuations as continuations,
    join_continuations as join_continuations,
    written_benchmarks as written_benchmarks,
)
from evenhand.runs.directory import RunDirectory as RunDirectory, default_path as default_path
from evenhand.runs.engine import Outcome as Outcome, execute as execute
from evenhand.runs.estimating import estimate as estimate
from evenhand.runs.joining import answers as answers, join_answers as join_answers
from evenhand.runs.labelling import (
    Labelling as Labelling,
    LabelOutcome as LabelOutcome,
    label as label,
)
from evenhand.runs.labels import (
    classifier_key as classifier_key,
    judgements as judgements,
    label_folders as label_folders,
    with_judgements as with_judgements,
)
from evenhand.runs.manifest import (
    ClassifierRecord as ClassifierRecord,
    JudgedRecord as JudgedRecord,
    Manifest as Manifest,
    PromptSetRecord as PromptSetRecord,
)
from evenhand.runs.plan import Part as Part, Plan as Plan, make_plan as make_plan
from evenhand.runs.progress import Progress as Progress, progress_for as progress_for
from evenhand.runs.requests import (
    GenerateRequest as GenerateRequest,
    Request as Request,
    ScoreRequest as ScoreRequest,
    request_ids as request_ids,
)
