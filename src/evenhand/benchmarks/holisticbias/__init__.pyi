from .regard import (
    load_holisticbiasr as load_holisticbiasr,
)
from .styles import (
    style_columns as style_columns,
)
