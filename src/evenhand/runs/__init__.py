"""The engine and the record: plan, requests, shards, resume, manifest, run directory."""

from evenhand.runs.answers import answers as answers, join_answers as join_answers
from evenhand.runs.directory import RunDirectory as RunDirectory, default_path as default_path
from evenhand.runs.engine import Outcome as Outcome, execute as execute
from evenhand.runs.estimate import estimate as estimate
from evenhand.runs.manifest import Manifest as Manifest, PromptSetRecord as PromptSetRecord
from evenhand.runs.plan import Part as Part, Plan as Plan, make_plan as make_plan
from evenhand.runs.progress import Progress as Progress, progress_for as progress_for
from evenhand.runs.requests import ScoreRequest as ScoreRequest, request_ids as request_ids
