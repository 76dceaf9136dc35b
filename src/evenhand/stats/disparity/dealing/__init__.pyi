from .layout import Layout as Layout
from .sums import MANY as MANY, ManyUnits as ManyUnits
