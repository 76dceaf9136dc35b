from .agreement import Agreement as Agreement
