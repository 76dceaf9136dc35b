"""All designs by name: built-in ones, those of other packages, and default ones for benchmarks without designs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from evenhand.benchmarks import RECIPES
from evenhand.schema import ExtensionError, Registry, unknown_name
from evenhand.studies.calibration.designs.contract import Design

Bringing = Callable[[], Sequence[Design]]
CALIBRATIONS: Registry[Bringing] = Registry(
    "set of calibration designs",
    "evenhand.calibrations",
    {},
    "a function without arguments that returns evenhand.studies.calibration.Design objects",
    needs_card=False,
)
"""Registry of the designs of other packages, by the name of the benchmark or measure that they calibrate."""


@dataclass(frozen=True)
class DesignCollection:
    """Designs by name. ``without`` gives the reason for each benchmark or measure that cannot be simulated."""

    designs: dict[str, Design]
    without: dict[str, str]


def collect_designs() -> DesignCollection:
    """Return all designs. Unusable designs of other packages are listed in `without`."""
    designs, without = dict(_ours()), dict[str, str]()
    for name in CALIBRATIONS.names():
        try:
            brought = list(CALIBRATIONS.load(name)())
        except ExtensionError as error:
            without[name] = error.message
            continue
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # code of another package can raise anything, including SystemExit
            told = CALIBRATIONS.explain_failure(name, error)
            without[name] = told.message if told is not None else str(error)
            continue
        if not brought:
            without[name] = f"The package {CALIBRATIONS.package(name)} brings no designs for {name!r}."
            continue
        if wrong := [type(one).__name__ for one in brought if not isinstance(one, Design)]:
            without[name] = (
                f"The designs of {name!r} hold {wrong[0]}; evenhand.studies.calibration.Design was expected."
            )
            continue
        designs |= {f"{name}: {one.name}": replace(one, name=f"{name}: {one.name}") for one in brought}
    for name in RECIPES.names():
        if name in RECIPES.built_in or name in CALIBRATIONS:
            continue
        made = _designs_from_recipe(name)
        if isinstance(made, str):
            without[name] = made
        else:
            designs |= {one.name: one for one in made}
    return DesignCollection(designs, without)


def find_design(name: str) -> Design:
    """Return the design with a name; raise UsageError with similar names if there is none."""
    designs = _ours()
    if name not in designs:
        designs = collect_designs().designs
    if name not in designs:
        raise unknown_name("design", name, designs)
    return designs[name]


@cache
def _ours() -> dict[str, Design]:
    from evenhand.studies.calibration.designs.changed import change_designs
    from evenhand.studies.calibration.designs.choices import choice_designs
    from evenhand.studies.calibration.designs.combined import combined_designs
    from evenhand.studies.calibration.designs.counterfactuals import counterfactual_designs
    from evenhand.studies.calibration.designs.crossings import crossing_designs
    from evenhand.studies.calibration.designs.ends import end_to_end_designs
    from evenhand.studies.calibration.designs.gathered import gathered_designs
    from evenhand.studies.calibration.designs.likelihoods import likelihood_designs
    from evenhand.studies.calibration.designs.names import name_designs
    from evenhand.studies.calibration.designs.paired_phrases import phrase_designs
    from evenhand.studies.calibration.designs.people import people_designs
    from evenhand.studies.calibration.designs.rates import rate_designs
    from evenhand.studies.calibration.designs.replies import reply_designs

    every = (
        rate_designs,
        likelihood_designs,
        choice_designs,
        phrase_designs,
        reply_designs,
        name_designs,
        people_designs,
        change_designs,
        counterfactual_designs,
        crossing_designs,
        gathered_designs,
        combined_designs,
        end_to_end_designs,
    )
    return {one.name: one for designs in every for one in designs()}


def _designs_from_recipe(name: str) -> list[Design] | str:
    from evenhand.studies.calibration.designs.plain import plain_designs

    try:
        return plain_designs(name, RECIPES.load(name))
    except ExtensionError as error:
        return error.message
