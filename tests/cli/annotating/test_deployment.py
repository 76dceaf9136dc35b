"""The files in deploy/annotation/ say what the command line takes and name what is there; no container is started."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from evenhand.cli.annotating import app

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "deploy" / "annotation"


@pytest.fixture
def compose() -> dict[str, Any]:
    return yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))


def test_the_application_is_started_as_the_command_line_takes_it(compose: dict[str, Any]) -> None:
    service = compose["services"]["application"]
    words = [re.sub(r"\$\{JUDGE_NAME:[^}]*\}", "judge.example.org", word) for word in service["command"]]
    command: Any = typer.main.get_command(app)
    parsed = command.commands["serve"].make_context("serve", words).params
    assert (
        parsed["address"] == "https://judge.example.org" and parsed["proxied"] and parsed["host"] == "0.0.0.0"
    )
    assert service["environment"]["EVENHAND_ANNOTATE_DATABASE"].startswith(
        "postgresql://evenhand@database:5432/"
    )


def test_the_systemd_service_starts_a_study_behind_a_proxy() -> None:
    unit = (FOLDER / "judge.service").read_text(encoding="utf-8")
    start = re.search(r"^ExecStart=\S+/evenhand annotate (.+)$", unit, re.MULTILINE)
    assert start
    command: Any = typer.main.get_command(app)
    parsed = command.commands["serve"].make_context("serve", start[1].split()).params
    assert parsed["address"] == "https://judge.example.org" and parsed["proxied"]
    folder = re.search(r"^WorkingDirectory=(.+)$", unit, re.MULTILINE)
    assert folder and f"ReadWritePaths={folder[1]}\n" in unit


def test_what_is_named_is_there(compose: dict[str, Any]) -> None:
    services = compose["services"]
    for name, service in services.items():
        assert set(service.get("secrets", [])) <= set(compose["secrets"]), name
        assert set(service.get("networks", [])) <= set(compose["networks"]), name
        assert set(service.get("depends_on", {})) <= set(services), name
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            assert source in compose["volumes"] or source in ("./study", "./Caddyfile"), volume
    assert (FOLDER / "Caddyfile").exists()
    build = services["application"]["build"]
    assert (FOLDER / build["context"] / build["dockerfile"]).resolve() == FOLDER / "Dockerfile"


def test_no_secret_stands_in_it_and_rights_are_few(compose: dict[str, Any]) -> None:
    text = (FOLDER / "compose.yaml").read_text(encoding="utf-8")
    assert "POSTGRES_PASSWORD:" not in text and "PGPASSWORD" not in text
    application, database = compose["services"]["application"], compose["services"]["database"]
    assert application["read_only"] and application["cap_drop"] == ["ALL"]
    assert "ports" not in application and "ports" not in database
    assert compose["networks"]["inside"] == {"internal": True} and database["networks"] == ["inside"]
    assert all("healthcheck" in compose["services"][name] for name in ("application", "database"))
    image = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
    assert image.index("USER evenhand") < image.index("ENTRYPOINT")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    assert "[annotate,postgres]" in image and {"annotate", "postgres"} <= extras.keys()
