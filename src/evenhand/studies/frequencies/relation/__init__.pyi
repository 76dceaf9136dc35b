from .joined import Joined as Joined, JoinedBenchmark as JoinedBenchmark
from .result import Relation as Relation, join_run as join_run
