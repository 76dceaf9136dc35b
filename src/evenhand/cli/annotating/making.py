"""Create a study file from runs or files (`evenhand annotate --from`)."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.cli.annotating.opening import is_study_file
from evenhand.cli.common import say
from evenhand.schema import UsageError


def made(
    study: Path | None,
    sources: Sequence[str],
    template: str | None,
    output: Path | None,
    how: Mapping[str, Any],
) -> Path:
    """Write the study file and print what was left out. how: arguments of `evenhand.annotation.build_study`.

    Raises UsageError for a missing argument or an existing file; DataError, WriteError.
    """
    if study is not None:
        raise UsageError(
            f"`--from` creates a new study file, but the study {study} was given, too.",
            f"Remove {study} or --from.",
        )
    if template is None or output is None:
        raise _incomplete(sources, template, output)
    if not is_study_file(str(output)):
        raise UsageError(
            f"-o {output}: unknown file type. A study file must end in .yaml.", "Change the file name."
        )
    if os.path.lexists(output):
        raise UsageError(
            f"{output} already exists. Creating the study again would overwrite your changes.",
            f"Choose another file with -o, or serve the existing study: evenhand annotate {output}",
        )
    from evenhand.annotation import build_study
    from evenhand.annotation.definition import template_note, write_study

    built = build_study(sources, template, **how)
    write_study(built.study, output, template_note(template))
    for note in built.notes:
        say(note)
    say(f"Created {output} with {len(built.study.items):,} items. Check it before you invite annotators.")
    return output


def _incomplete(sources: Sequence[str], template: str | None, output: Path | None) -> UsageError:
    from evenhand.annotation.definition import TEMPLATES

    missing = [flag for flag, given in (("--template", template), ("-o", output)) if given is None]
    runs = " ".join(f"--from {source}" for source in sources)
    known = f" (one of {', '.join(TEMPLATES)})" if template is None else ""
    return UsageError(
        f"`--from` creates a study file. Missing: {' and '.join(missing)}.",
        f"For example: evenhand annotate {runs} --template {template or 'regard'} -o {output or 'STUDY.yaml'}{known}",
    )
