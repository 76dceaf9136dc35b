"""The engine and the record: plan, requests, shards, resume, manifest, run directory."""

from evenhand.runs.answers import answers as answers
from evenhand.runs.answers import join_answers as join_answers
from evenhand.runs.directory import RunDirectory as RunDirectory
from evenhand.runs.directory import default_path as default_path
from evenhand.runs.engine import Outcome as Outcome
from evenhand.runs.engine import execute as execute
from evenhand.runs.estimate import estimate as estimate
from evenhand.runs.manifest import Manifest as Manifest
from evenhand.runs.manifest import PromptSetRecord as PromptSetRecord
from evenhand.runs.plan import Part as Part
from evenhand.runs.plan import Plan as Plan
from evenhand.runs.plan import make_plan as make_plan
from evenhand.runs.progress import Progress as Progress
from evenhand.runs.progress import progress_for as progress_for
from evenhand.runs.requests import ScoreRequest as ScoreRequest
from evenhand.runs.requests import request_ids as request_ids
