from .beside import BESIDE as BESIDE
from .design import Design as Design, designed as designed
from .recipe import BENCHMARK as BENCHMARK, NUMBER as NUMBER, ROLE as ROLE
