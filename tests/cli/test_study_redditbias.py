"""`evenhand study redditbias`: what is wrong is said before anything is trained, and folders stay what they are."""

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand.studies.redditbias import RedditBiasConfig

OWN = (
    "study",
    "redditbias",
    "evenhand/reference",
    "--bias",
    "evenhand/religion",
    "--device",
    "cpu",
    "-o",
    "out",
)


@pytest.mark.parametrize(
    ("more", "code", "told"),
    [
        (("--bias", "relligion1"), 2, "unknown value 'relligion1'; expected one of religion1"),
        (("--methods", "lmd,had"), 2, "Unknown training method: 'had'"),
        (("--methods", "lmd?weigth=1"), 2, "weigth"),
        (("--epochs", "0"), 2, "epochs"),
        (("--multiwoz", "none.zip"), 1, "File or folder not found: none.zip"),
        (("--multiwoz", "cut.zip"), 1, "is not a valid archive, or is incomplete"),
        (("--dstc7", "."), 1, "has no train.convos.txt or train_convos.txt"),
        (("--bias", "race", "--from", "."), 1, "race"),
        (("--task-limit", "1"), 2, "a whole number of at least 2"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_trained(
    evenhand: Any, tmp_path: Path, more: tuple[str, ...], code: int, told: str
) -> None:
    (tmp_path / "cut.zip").write_bytes(b"PK\x03\x04 and no more")
    evenhand(*OWN, *more).refused(code, told)
    assert not (tmp_path / "out").exists()


def test_models_that_cannot_be_taught_are_refused(evenhand: Any) -> None:
    evenhand("study", "redditbias", "puppet/random", "--bias", "evenhand/religion", "-o", "out").refused(
        1, "the study requires a causal model whose weights are in", "evenhand/reference"
    )


def test_a_folder_keeps_its_options_and_decides_no_code(evenhand: Any, tmp_path: Path) -> None:
    given = {"model": "evenhand/reference", "bias": ("evenhand/religion",), "trust_remote_code": True}
    RedditBiasConfig.read(given).begin(tmp_path / "old")
    evenhand("study", "redditbias", "old").refused(
        2, "alone is not permission to run it", "--trust-remote-code"
    )
    evenhand("study", "redditbias", "old", "--seed", 3).refused(
        2, "is an existing study, so seed (--seed) cannot be changed"
    )
    record = json.loads((tmp_path / "old" / RedditBiasConfig.RECORD.file).read_text())
    record["options"]["methods"] = ["unknown"]
    (tmp_path / "old" / RedditBiasConfig.RECORD.file).write_text(json.dumps(record))
    evenhand("study", "redditbias", "old").refused(1, "is not a valid record of a RedditBias study")
