"""evenhand: measures social bias in language models, and says how far each number can be believed."""

from . import annotation as annotation, measures as measures, mitigations as mitigations, stats as stats
from .classifiers import load_classifier as load_classifier
from .models import as_language_model as as_language_model, load_model as load_model
from .prompts import PromptSet as PromptSet
from .prompts.counterfactual import Counterfactuals as Counterfactuals, counterfactuals as counterfactuals
from .prompts.holisticbias import HolisticBias as HolisticBias
from .prompts.language import compose as compose
from .prompts.lexicon import Lexicon as Lexicon, load_lexicon as load_lexicon
from .prompts.own_files import read_prompts as read_prompts
from .schema import EvenhandError as EvenhandError
from .schema.version import __version__ as __version__
from .studies import push as push
from .studies.audit import Run as Run, audit as audit, open_run as open_run, rescore as rescore
from .studies.before_after import BeforeAfterReport as BeforeAfterReport, before_after as before_after
from .studies.calibration import CalibrationStudy as CalibrationStudy, calibrate as calibrate
from .studies.compare import ComparisonReport as ComparisonReport, compare as compare
from .studies.consistency import Checked as Checked, check_consistency as check_consistency
from .studies.debias import Debiased as Debiased, debias as debias
from .studies.frequencies import Frequencies as Frequencies, frequencies as frequencies
from .studies.gate import GateOutcome as GateOutcome, gate as gate
from .studies.own_responses import FileMeasurements as FileMeasurements, measure as measure
from .studies.search_instruction import Revision as Revision, search_instruction as search_instruction
from .studies.search_trigger import search_trigger as search_trigger
