from .recipe import BENCHMARK as BENCHMARK
