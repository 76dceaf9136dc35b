from .joining import Relation as Relation, join_run as join_run
from .page import render_html as render_html
from .tabulating import FrequencyTables as FrequencyTables, frequency_tables as frequency_tables
from .terminal import render_terminal as render_terminal
from .view import FrequencyView as FrequencyView
