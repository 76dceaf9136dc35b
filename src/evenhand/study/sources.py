"""Options in a YAML file and from `--set`."""

from pathlib import Path
from typing import Any

import yaml

from evenhand.schema import DataError, UsageError, parse_yaml


def read_options_file(file: Path) -> dict[str, Any]:
    """Return the options in a YAML file; raises DataError for an unreadable file."""
    if file.exists() and not file.is_file():
        raise DataError(f"{file} is not a file.", "Give a YAML file: --config FILE")
    try:
        content = _parse_yaml(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(
            f"The configuration file {file} cannot be read: {error.strerror}.",
            "Give a YAML file: --config FILE",
        ) from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"{file} is not UTF-8 text: {error.reason} at byte {error.start}.",
            "Expected a YAML file with lines such as `suite: quick`.",
        ) from error
    except yaml.YAMLError as error:
        raise DataError(_invalid_yaml(file, error), "Expected lines such as `suite: quick`.") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise DataError(f"{file} does not contain options.", "Expected lines such as `suite: quick`.")
    return content


def _invalid_yaml(file: Path, error: Exception) -> str:
    mark = getattr(error, "context_mark", None) or getattr(error, "problem_mark", None)
    if mark is None:
        return f"{file}: invalid YAML: {error}."
    what = ", ".join(filter(None, (getattr(error, "context", None), getattr(error, "problem", None))))
    return f"{file}, line {mark.line + 1}, column {mark.column + 1}: invalid YAML: {what}."


def _parse_yaml(text: str) -> Any:
    """Return the value of a YAML text; raises yaml.YAMLError also if a name occurs twice."""

    class EachOnce(yaml.SafeLoader):
        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            keys = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            for key in keys:
                if key.tag == "tag:yaml.org,2002:bool":
                    key.tag = "tag:yaml.org,2002:str"  # YAML reads the option name `on` as true
            names = [key.value for key in keys]
            if twice := [key for key, _ in node.value if names.count(key.value) > 1]:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {twice[-1].value!r} occurs twice", twice[-1].start_mark
                )
            return super().construct_mapping(node, deep)

    return parse_yaml(text, EachOnce)


def assign(options: dict[str, Any], setting: str) -> None:
    """Set an option from `--set`: `name=value`, the value as YAML. Raises UsageError for anything else."""
    name, equals, value = setting.partition("=")
    if not equals or not name:
        raise UsageError(f"`--set` expects name=value, got {setting!r}.", "For example: --set margin=0.1")
    *path, last = name.split(".")
    place = options
    for step in path:
        place = place.setdefault(step, {})
        if not isinstance(place, dict):
            raise UsageError(f"`--set {setting}`: {step} is a single value and has no part {last!r}.")
    try:
        place[last] = _parse_yaml(value)
    except yaml.YAMLError as error:
        raise UsageError(
            f"`--set {setting}`: {value!r} is not a valid YAML value: {getattr(error, 'problem', error)}.",
            "Quote text with special characters: --set 'data.stereoset=\"[old] data\"'.",
        ) from error
