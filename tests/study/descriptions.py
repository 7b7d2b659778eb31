"""Runs and methods from their descriptions in JSON, as records hold them."""

from histreg.study.atari.runs import ValueRun
from histreg.study.measurements import Measurement
from histreg.study.methods import METHODS
from histreg.study.series.runs import ForecastRun
from histreg.study.shapes.runs import ShapeRun
from histreg.study.sines.runs import SineRun
from histreg.study.tables.runs import TableRun
from histreg.study.tabular.runs import TabularRun

KINDS = {
    kind.kind: kind
    for kind in (
        TabularRun,
        SineRun,
        ForecastRun,
        ValueRun,
        ShapeRun,
        TableRun,
        Measurement,
    )
}


def method_of(description):
    """Return the method that `Method.to_json` described."""
    parameters = dict(description)
    return METHODS[parameters.pop("name")](**parameters)


def run_of(description):
    """Return the run that `Run.to_json` described."""
    fields = {name: _value(part) for name, part in description.items()}
    return KINDS[fields.pop("kind")](**fields)


def _value(part):
    if isinstance(part, dict):
        return method_of(part)
    return tuple(part) if isinstance(part, list) else part
