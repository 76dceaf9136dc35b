from .conduct import Counted as Counted, planned as planned, probe as probe
from .options import FrequencyOptions as FrequencyOptions
from .page import render_html as render_html
from .record import Plan as Plan, is_count as is_count
from .relation import Relation as Relation, join_run as join_run
from .result import (
    Frequencies as Frequencies,
    frequencies as frequencies,
    frequencies_with as frequencies_with,
    local_folder as local_folder,
    resumed as resumed,
)
from .tabulating import FrequencyTables as FrequencyTables, frequency_tables as frequency_tables
from .terminal import render_terminal as render_terminal
from .view import FrequencyView as FrequencyView
