from .model import (
    NumpyModel as NumpyModel,
)
