from . import (
    figures as figures,
    sentences as sentences,
    verdict_summary as verdict_summary,
    wording as wording,
)
from .alike import alike_groups as alike_groups, alike_names as alike_names
from .amounts import (
    count_places as count_places,
    short_count as short_count,
    smallest_effect as smallest_effect,
)
from .charts import (
    axis_svg as axis_svg,
    diverging_class as diverging_class,
    interval_svg as interval_svg,
)
from .drawing import (
    LABEL_HEIGHT as LABEL_HEIGHT,
    Label as Label,
    PlotArea as PlotArea,
    Scale as Scale,
    assign_rows as assign_rows,
    cut as cut,
    dot as dot,
    factor_scale as factor_scale,
    line as line,
    scale_over as scale_over,
)
from .figures import (
    Forest as Forest,
    ForestRow as ForestRow,
    HeatMap as HeatMap,
    forest_row as forest_row,
    heat_map as heat_map,
    measure_forest as measure_forest,
)
from .glossary import GLOSSARY as GLOSSARY
from .numbers import (
    measurement_numbers as measurement_numbers,
)
from .page import (
    rendered as rendered,
)
from .picture import (
    Picture as Picture,
    PictureRow as PictureRow,
    convert_to_png as convert_to_png,
    picture_svg as picture_svg,
    shown_rows as shown_rows,
    write_picture as write_picture,
)
from .plots import (
    SizedRate as SizedRate,
    Slope as Slope,
    WeighedPoint as WeighedPoint,
    front_svg as front_svg,
    size_svg as size_svg,
    slope_svg as slope_svg,
)
from .printer import (
    Printer as Printer,
)
from .scatter import (
    SCATTER_STYLE as SCATTER_STYLE,
    ScatterPoint as ScatterPoint,
    scatter_key as scatter_key,
    scatter_svg as scatter_svg,
)
from .view import (
    BenchmarkView as BenchmarkView,
    ClassifierView as ClassifierView,
    ReportView as ReportView,
    WrittenView as WrittenView,
)
from .wording import (
    ABOVE as ABOVE,
    BELOW as BELOW,
    BETTER as BETTER,
    BIASED as BIASED,
    CHANGED as CHANGED,
    FELL_LESS as FELL_LESS,
    HIGHER as HIGHER,
    LARGER as LARGER,
    LESS_KIND as LESS_KIND,
    LOWER as LOWER,
    MORE_KIND as MORE_KIND,
    NOT_DETECTED as NOT_DETECTED,
    NOT_MEASURABLE as NOT_MEASURABLE,
    ROSE_LESS as ROSE_LESS,
    SMALLER as SMALLER,
    SYMBOLS as SYMBOLS,
    UNCHANGED as UNCHANGED,
    WORSE as WORSE,
    bytes_of as bytes_of,
    decimals as decimals,
    describe_group_change as describe_group_change,
    known as known,
    label as label,
    listing as listing,
    number as number,
    probability as probability,
    sign_of_change as sign_of_change,
    signed as signed,
)
