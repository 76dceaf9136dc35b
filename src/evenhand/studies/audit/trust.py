"""Protection against stored folders and options files that name code to run or servers to send the user's keys to.

Both may come from another person. The user must therefore confirm these actions in the present call: running a model's
code, using a server, opening a file of responses, and sending the text of a file elsewhere to a service.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.benchmarks import load_benchmark
from evenhand.models import LanguageModel
from evenhand.runs import RunDirectory
from evenhand.schema import ModelError, ResumeRefused, UsageError
from evenhand.services import LOCAL
from evenhand.studies.audit.classifiers import named_by_role
from evenhand.studies.audit.conduct import check_options
from evenhand.studies.audit.options import NAMED_ANEW, SAME_RESULTS, AuditConfig, read_config, stored_config
from evenhand.studies.audit.selection import wanted_benchmarks
from evenhand.studies.model_options import load_named_model
from evenhand.study import check_addresses, check_code, find_files


def asked_names(config: AuditConfig) -> list[str]:
    """Return the names of the model and all classifiers that an audit with these options uses.

    Classifiers are those that the options name, and otherwise the published ones of the benchmarks.
    """
    recipes = [load_benchmark(name) for name in wanted_benchmarks(config)]
    published = [
        judge.classifier
        for recipe in recipes
        for judge in recipe.classified_by
        if judge.role not in config.classifiers
    ]
    return [config.model, *config.classifiers.values(), *published]


def check_options_file(
    file: Path,
    config: AuditConfig,
    settings: Sequence[str],
    given: Mapping[str, Any],
    *,
    classifiers: Sequence[str] = (),
    trusted: bool = False,
) -> None:
    """Raise ResumeRefused for servers and files that only the options file of `-c` names, not the user.

    `config` are the combined options. `settings`, `given` and `classifiers` are the user's own options, as in
    `read_config` and `--classifier`. `trusted` is True if the user trusts every URL and file in the file.
    """
    said = read_config(None, settings, {"model": config.model, **given})
    own = said.model_fields_set if given.get("model") else said.model_fields_set - {"model"}
    check_code(file, config.trust_remote_code, said.trust_remote_code)
    if config.on not in (None, LOCAL, said.on) and not trusted:
        raise ResumeRefused(
            f"{file} would connect this machine to the cluster {config.on}, whose members can run code here. You "
            "did not give this cluster yourself.",
            f"If you trust it, add --on {config.on} or --trust-addresses.",
        )
    named = [
        *classifiers,
        *said.classifiers.values(),
        *said.mitigate,
        *([] if "model" not in own else [config.model]),
    ]
    check_addresses(
        file,
        asked_names(config),
        mitigations=config.mitigate,
        files=find_files(config.model_dump(), own),
        named=named,
        trusted=trusted,
    )


def resumed_config(
    path: Path,
    config_file: Path | None,
    settings: Sequence[str],
    given: Mapping[str, Any],
    classifiers: Sequence[str],
    trust_addresses: bool,
) -> tuple[AuditConfig, LanguageModel | None]:
    """Return the options with which a run is resumed, and its model unless a cluster loads it; see `resume`."""
    directory = RunDirectory.open(path)
    stored = stored_config(directory.manifest.arguments_resolved, path)
    now = read_config(config_file, settings, {"model": stored.model, **given})
    named = {name: getattr(now, name) for name in now.model_fields_set - SAME_RESULTS}
    recipes = [load_benchmark(name) for name in directory.benchmarks]
    judges = {**named.pop("classifiers", {}), **named_by_role(classifiers, recipes)}
    repeated = stored.model_copy(update={**named, "classifiers": {**stored.classifiers, **judges}})
    check_options(directory, repeated)
    # Only options that the user gives now count as permission; those in a file of options do not.
    said = read_config(None, settings, {"model": stored.model, **given})
    check_code(path, stored.trust_remote_code, said.trust_remote_code)
    # Options that are given again equal the stored ones; otherwise check_options has refused them.
    check_addresses(
        path,
        asked_names(stored),
        mitigations=stored.mitigate,
        files=find_files(stored.model_dump(), said.model_fields_set),
        named=[*classifiers, *said.classifiers.values(), *said.mitigate],
        trusted=trust_addresses,
    )
    kept = set(stored.same_results()) - NAMED_ANEW
    config = now.model_copy(update={name: getattr(stored, name) for name in kept})
    try:
        return config, None if config.on is not None else load_named_model(config)
    except (ModelError, UsageError) as error:
        raise type(error)(
            error.message,
            f"{error.hint or ''} If the model was an object in memory, the command line cannot load it. Resume in "
            f"Python with eh.audit(model, ..., output='{path}'). For a finished run, "
            f"eh.open_run('{path}').report() writes the report.".strip(),
        ) from error
