"""A folder that somebody else made runs none of their code and sends them no key, however it is gone on with."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from evenhand.classifiers.loading import BACKENDS
from evenhand.schema import ResumeRefused, UsageError
from evenhand.studies.audit.options import AuditConfig
from evenhand.studies.audit.result import audit, resume
from evenhand.studies.before_after.result import before_after
from evenhand.study.trust import GOOGLE, SERVICES, Server, check_addresses, find_server
from tests.helpers.loopback_server import LoopbackServer

SECRET, VARIABLE = "wJalrXUtnFEMI-secret", "AWS_SECRET_ACCESS_KEY"
STUDIES = ("audit", "before-after", "check-consistency", "search-instruction")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """Answers every completion with " is kind to us."; the store of answers is empty."""
    monkeypatch.setenv("EVENHAND_CACHE", str(tmp_path / "store"))
    for name in ("EVENHAND_API_KEY", "OPENAI_API_KEY", "PERSPECTIVE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(VARIABLE, SECRET)

    def answer(asked: Any) -> tuple[int, Any]:
        said = {"text": " is kind to us.", "finish_reason": "stop", "index": 0}
        return 200, {"model": "m", "choices": [said], "usage": {"completion_tokens": 5}}

    with LoopbackServer(answer) as running:
        yield running


def told(server: Any) -> str:
    """Everything that reached the server, as text."""
    return json.dumps([[asked.path, dict(asked.headers), asked.body] for asked in server.asked])


def stranger(verb: str, folder: Path, **options: Any) -> Path:
    """A folder such as the verb goes on with, whose record holds these options of an audit."""
    options = {"benchmarks": ["rudeness"], **options}
    folder.mkdir(parents=True, exist_ok=True)
    if verb == "audit":
        run = audit("house/writer", benchmarks=["rudeness"], limit=6, output=folder / "run")
        path = run.path / "manifest.json"
        manifest = json.loads(path.read_text())
        manifest["arguments_resolved"] |= options
        manifest["status"] = "interrupted"
        path.write_text(json.dumps(manifest))
        return run.path
    config = AuditConfig(**options).model_dump(mode="json")
    if verb == "before-after":
        content = {"version": 1, "config": config | {"mitigate": ["prefix=Be kind."]}, "given": {}}
        name = "before-after-options.json"
    elif verb == "search-instruction":
        content = {"version": 1, "search": {"config": {}, "audit": config}}
        name = "revision.json"
    else:
        judged = config["classifiers"].get("rudeness", "vader")
        own = {"method": "prefix=Be kind.", "model": config["model"], "neutral": "none", "classifier": judged}
        prompts = folder.parent / "wild.csv"
        prompts.write_text("prompt_id,text\n" + "".join(f"p{i},A wild case {i}:\n" for i in range(9)))
        own |= {"prompts": str(prompts), "trust_remote_code": config["trust_remote_code"]}
        content = {"version": 1, "options": own}
        name = "study.json"
    (folder / name).write_text(json.dumps(content))
    return folder


@pytest.mark.parametrize("verb", STUDIES)
@pytest.mark.parametrize("kind", ["key of the model", "usual key", "key of the judge"])
def test_no_key_is_sent_to_an_address_that_only_the_folder_names(
    verb: str,
    kind: str,
    evenhand: Callable[..., Any],
    server: Any,
    judged_house: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = f"{server.url}/v1#m"
    options: dict[str, Any] = {"model": address, "classifiers": {"rudeness": "house/words?word=rude"}}
    if verb == "check-consistency":
        options["classifiers"] = {}
    if kind == "key of the model":
        options["model"] = f"{address}?key={VARIABLE}"
    elif kind == "usual key":
        monkeypatch.setenv("EVENHAND_API_KEY", SECRET)
    else:
        judge = f"llm-judge?model=j&url={server.url}/v1&key_variable={VARIABLE}"
        options |= {"model": "house/writer", "classifiers": {"rudeness": judge}}
    folder = stranger(verb, tmp_path / "theirs", **options)
    before = sorted(path.name for path in folder.iterdir())
    ended = evenhand(verb, folder)
    assert SECRET not in told(server) and "authorization" not in told(server)
    assert not server.asked, "a refusal comes before anything is asked"
    variable = "EVENHAND_API_KEY" if kind == "usual key" else VARIABLE
    ended.refused(2, server.url.removeprefix("http://"), variable, "--trust-addresses")
    assert SECRET not in ended.out + ended.err
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize("verb", STUDIES)
def test_code_that_comes_with_a_model_is_not_run_because_a_folder_says_so(
    verb: str,
    evenhand: Callable[..., Any],
    judged_house: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    marker, model = tmp_path / "their code was run", tmp_path / "strange"
    model.mkdir()
    kinds = {"AutoConfig": "configuration_strange.StrangeConfig"}
    (model / "config.json").write_text(json.dumps({"model_type": "strange", "auto_map": kinds}))
    (model / "configuration_strange.py").write_text(
        f"from pathlib import Path\nPath({str(marker)!r}).touch()\n"
        "from transformers import PretrainedConfig\n"
        "class StrangeConfig(PretrainedConfig):\n    model_type = 'strange'\n"
    )
    judges = {} if verb == "check-consistency" else {"rudeness": "house/words?word=rude"}
    folder = stranger(verb, tmp_path / "theirs", model=str(model), trust_remote_code=True, classifiers=judges)
    evenhand(verb, folder).refused(2, "alone is not permission to run it", "--trust-remote-code")
    assert not marker.exists()
    ended = evenhand(verb, folder, "--trust-remote-code")
    assert marker.exists(), "whoever asks for it gets it"
    assert "alone is not permission to run it" not in ended.err


def test_an_instruction_of_a_folder_is_not_shown_to_a_server_of_the_folder(
    evenhand: Callable[..., Any], judged_house: ModuleType, tmp_path: Path
) -> None:
    """A method may read a file of the user's, so that even without a key a strange server is not asked."""
    folder = stranger(
        "check-consistency", tmp_path / "theirs", model="http://203.0.113.7/v1#m", classifiers={}
    )
    record = json.loads((folder / "study.json").read_text())
    record["options"]["method"] = "instruction-file=~/.netrc"
    (folder / "study.json").write_text(json.dumps(record))
    evenhand("check-consistency", folder, "--retry-errors").refused(2, "203.0.113.7")


@pytest.mark.parametrize("verb", STUDIES)
@pytest.mark.parametrize("of", ["model", "judge"])
def test_no_file_is_opened_as_a_store_because_a_folder_says_so(
    verb: str, of: str, evenhand: Callable[..., Any], server: Any, judged_house: ModuleType, tmp_path: Path
) -> None:
    file = tmp_path / "private" / "mine.sqlite"
    address = f"{server.url}/v1#m"
    options: dict[str, Any] = {"model": "house/writer"}
    if of == "model":
        options["model"] = f"{address}?store={file}"
    else:
        options["classifiers"] = {"rudeness": f"llm-judge?model=j&url={server.url}/v1&store={file}"}
    folder = stranger(verb, tmp_path / "theirs", **options)
    evenhand(verb, folder).refused(2, str(file), "--trust-addresses")
    assert not server.asked and not file.parent.exists()


@pytest.mark.parametrize("verb", STUDIES)
@pytest.mark.parametrize("of", ["method", "judge"])
def test_no_private_file_is_shown_to_a_service_because_a_folder_says_so(
    verb: str, of: str, evenhand: Callable[..., Any], server: Any, judged_house: ModuleType, tmp_path: Path
) -> None:
    """Not even to a server on this machine, which may be anybody's, and whose answers go into a report."""
    file = tmp_path / "id_ed25519.toml"
    file.write_text(SECRET)
    options: dict[str, Any] = {"model": "house/writer"}
    if of == "judge":
        judge = f"llm-judge?model=j&url={server.url}/v1&rubric={file}"
        options["classifiers"] = {"rudeness": judge}
    else:
        options |= {"model": f"{server.url}/v1#m", "classifiers": {"rudeness": "house/words?word=rude"}}
        options["mitigate"] = [f"instruction-file={file}"]
    folder = stranger(verb, tmp_path / "theirs", **options)
    if of == "method":
        give_method(verb, folder, f"instruction-file={file}")
    ended = evenhand(verb, folder)
    ended.refused(2, str(file), "--trust-addresses")
    assert SECRET not in told(server) + ended.out + ended.err and not server.asked


@pytest.mark.parametrize(
    ("verb", "option"),
    [
        *((verb, option) for verb in STUDIES for option in ("prompts", "data")),
        *((verb, "classifier_error") for verb in STUDIES if verb != "check-consistency"),
        ("check-consistency", "neutral"),
    ],
)
def test_no_private_file_is_asked_as_prompts_because_a_folder_says_so(
    verb: str,
    option: str,
    evenhand: Callable[..., Any],
    server: Any,
    judged_house: ModuleType,
    tmp_path: Path,
) -> None:
    file = tmp_path / "diary.csv"
    file.write_text(f"text\n{SECRET}\n")
    value: Any = {"bold": str(file)} if option == "data" else str(file)
    options: dict[str, Any] = {
        "model": f"{server.url}/v1#m",
        "classifiers": {"rudeness": "house/words?word=rude"},
    }
    if verb == "check-consistency":
        folder = stranger(verb, tmp_path / "theirs", model=options["model"])
        record = json.loads((folder / "study.json").read_text())
        record["options"] |= {"prompts": None, option: value}
        (folder / "study.json").write_text(json.dumps(record))
    else:
        folder = stranger(verb, tmp_path / "theirs", **options, **{option: value})
    ended = evenhand(verb, folder)
    ended.refused(2, str(file), "--trust-addresses")
    assert SECRET not in told(server) + ended.out + ended.err and not server.asked


def test_a_link_in_a_data_folder_of_theirs_leads_to_no_private_file(tmp_path: Path) -> None:
    diary = tmp_path / "diary.jsonl"
    diary.write_text("{}")
    data = tmp_path / "theirs" / "bold" / "prompts"
    data.mkdir(parents=True)
    (data / "own.jsonl").write_text("{}")
    (data / "again.jsonl").symlink_to(data / "own.jsonl")
    files = {"data.bold": str(data.parent)}
    check_addresses(tmp_path / "theirs", ["http://localhost:8000/v1#m"], files=files)
    (data / "gender_prompt.json").symlink_to(diary)
    with pytest.raises(ResumeRefused, match="is outside of it, and you did not give it yourself"):
        check_addresses(tmp_path / "theirs", ["http://localhost:8000/v1#m"], files=files)


def test_own_prompts_go_on_where_they_are_named_again(
    evenhand: Callable[..., Any], server: Any, judged_house: ModuleType, tmp_path: Path
) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("text,axis,group\n" + "".join(f"Case {i}:,hair,g{i % 2}\n" for i in range(6)))
    asked = ("-b", "rudeness", "--prompts", file)
    assert evenhand("audit", f"{server.url}/v1#m", *asked, "-o", "run").code == 0
    evenhand("audit", "run").refused(2, "mine.csv", "--prompts")
    assert evenhand("audit", "run", "--prompts", file).code == 0
    assert evenhand("audit", "run", "--trust-addresses").code == 0
    assert evenhand("audit", "house/writer", *asked, "-o", "here").code == 0
    assert evenhand("audit", "here").code == 0, "no service, no naming"


def test_the_published_judge_is_a_service_too(judged_house: ModuleType, tmp_path: Path) -> None:
    from evenhand.studies.audit import asked_names

    config = AuditConfig(model="gpt2", benchmarks=("realtoxicityprompts",))
    assert "perspective" in asked_names(config)


@pytest.mark.parametrize("verb", ["audit", "before-after"])
def test_a_file_of_options_decides_no_more_than_a_folder(
    verb: str, evenhand: Callable[..., Any], server: Any, judged_house: ModuleType, tmp_path: Path
) -> None:
    """Somebody else may have written it: keys, stores, code and private files are named by the user, or trusted."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    address = f"{server.url}/v1#m"
    private = tmp_path / "diary.csv"
    private.write_text(f"text\n{SECRET}\n")
    cases = {
        f"model: {address}?key={VARIABLE}": ("--trust-addresses", VARIABLE),
        f"model: {address}?store={tmp_path}/s.sqlite": ("--trust-addresses", "s.sqlite"),
        f"model: {address}\nprompts: {private}": ("--trust-addresses", "diary.csv"),
        "model: house/writer\ntrust_remote_code: true": (
            "--trust-remote-code",
            "alone is not permission to run it",
        ),
    }
    for content, parts in cases.items():
        (theirs / "options.yaml").write_text(f"{content}\nbenchmarks: [rudeness]\n")
        ended = evenhand(verb, "-c", "theirs/options.yaml", "--mitigate", "prefix=Be kind.")
        ended.refused(2, *parts)
        assert not server.asked and SECRET not in ended.out + ended.err
    (theirs / "options.yaml").write_text(
        f"model: {address}?key={VARIABLE}\nbenchmarks: [rudeness]\nlimit: 6\n"
    )
    flags = ("-c", "theirs/options.yaml", "--mitigate", "prefix=Be kind.")
    evenhand(verb, *flags, "--trust-addresses")
    assert SECRET in told(server)


def give_method(verb: str, folder: Path, words: str) -> None:
    """Have the record of a study name this mitigation, where `stranger` has named another."""
    name, part, option = {
        "check-consistency": ("study.json", "options", "method"),
        "before-after": ("before-after-options.json", "config", "mitigate"),
    }.get(verb, ("", "", ""))
    if name:
        record = json.loads((folder / name).read_text())
        record[part][option] = words if option == "method" else [words]
        (folder / name).write_text(json.dumps(record))


def test_an_honest_run_goes_on_with_its_own_instruction(
    server: Any, judged_house: ModuleType, evenhand: Callable[..., Any], tmp_path: Path
) -> None:
    """Before a service the file is named again; within the folder, or before a model here, nothing is."""
    file = tmp_path / "kind.txt"
    file.write_text("Be kind.")
    words = f"instruction-file={file}"
    options: dict[str, Any] = {"benchmarks": ["rudeness"], "limit": 6}
    run = audit(f"{server.url}/v1#m", mitigate=[words], output=tmp_path / "run", **options)
    with pytest.raises(ResumeRefused, match=r"kind\.txt"):
        resume(run.path, None, [], {})
    assert resume(run.path, None, [], {}, trust_addresses=True).findings.equals(run.findings)
    assert evenhand("audit", run.path, "--mitigate", words).code == 0
    here = audit("house/writer", mitigate=[words], output=tmp_path / "here", **options)
    assert resume(here.path, None, [], {}).findings.equals(here.findings)
    check_addresses(tmp_path, [f"{server.url}/v1#m"], mitigations=[words])


@pytest.mark.parametrize(
    "words", ["prefix=" + "Be kind. " * 99, "prefix=README.md", "self-debiasing", "x=~nobody/\0"]
)
def test_a_text_is_no_file(words: str, tmp_path: Path) -> None:
    check_addresses(tmp_path, ["http://localhost:8000/v1#m"], mitigations=[words])


def test_rescoring_asks_no_judge_that_only_the_folder_names(
    evenhand: Callable[..., Any], server: Any, judged_house: ModuleType, tmp_path: Path
) -> None:
    run = audit("house/writer", benchmarks=["two-roles"], limit=6, output=tmp_path / "run")
    path = run.path / "manifest.json"
    manifest = json.loads(path.read_text())
    roles = list(manifest["judged"]["two-roles"])
    judge = f"llm-judge?model=j&url={server.url}/v1&key_variable={VARIABLE}"
    manifest["arguments_resolved"]["classifiers"] = {roles[0]: judge}
    del manifest["judged"]["two-roles"][roles[0]]
    path.write_text(json.dumps(manifest))
    named = "house/words?word=kind"
    ended = evenhand("rescore", run.path, "--classifier", f"{roles[1]}={named}")
    ended.refused(2, VARIABLE, "--trust-addresses")
    assert not server.asked
    again = ("--classifier", f"{roles[0]}={named}", "--classifier", f"{roles[1]}={named}")
    assert evenhand("rescore", run.path, *again).code == 0


@pytest.fixture
def served(server: Any, judged_house: ModuleType, tmp_path: Path) -> Any:
    """An honest run of a served model that needs no key, stopped before its findings."""
    run = audit(f"{server.url}/v1#m", benchmarks=["rudeness"], limit=6, output=tmp_path / "run")
    for part in (run.path / "responses").iterdir():
        part.unlink()
    server.asked.clear()
    return run


def test_an_honest_run_of_a_server_here_without_a_key_goes_on_as_before(server: Any, served: Any) -> None:
    assert resume(served.path, None, [], {}).findings.equals(served.findings)
    assert server.asked and "authorization" not in told(server)


def test_an_honest_run_goes_on_with_its_key_by_one_flag_or_by_the_address(
    server: Any, served: Any, evenhand: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENHAND_API_KEY", SECRET)
    with pytest.raises(ResumeRefused, match="EVENHAND_API_KEY"):
        resume(served.path, None, [], {})
    assert not server.asked
    assert evenhand("audit", served.path, "--trust-addresses").code == 0
    assert server.asked and all(a.headers["authorization"] == f"Bearer {SECRET}" for a in server.asked)
    server.asked.clear()
    again = evenhand("audit", f"{server.url}/v1#m", "-b", "rudeness", "--limit", 6, "-o", served.path)
    assert again.code == 0 and server.asked


def test_an_honest_study_goes_on_where_the_user_names_the_judge_again(
    server: Any, judged_house: ModuleType, evenhand: Callable[..., Any], tmp_path: Path
) -> None:
    judge = f"perplexity:{server.url}/v1#m?key={VARIABLE}"
    folder = stranger(
        "before-after", tmp_path / "mine", model="house/writer", classifiers={"rudeness": judge}
    )
    evenhand("before-after", folder).refused(2, VARIABLE)
    assert not server.asked
    evenhand("before-after", folder, "--classifier", f"rudeness={judge}")
    assert SECRET in told(server)


@pytest.mark.parametrize("trusted", [True, False])
def test_honest_runs_with_and_without_remote_code_go_on(
    trusted: bool, judged_house: ModuleType, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"benchmarks": ["rudeness"], "limit": 6, "trust_remote_code": trusted}
    run = audit("house/writer", output=tmp_path / "run", **options)
    if trusted:
        with pytest.raises(ResumeRefused, match="alone is not permission to run it"):
            resume(run.path, None, [], {})
    else:
        assert resume(run.path, None, [], {}).findings.equals(run.findings)
    assert resume(run.path, None, [], {"trust_remote_code": True}).findings.equals(run.findings)
    assert resume(run.path, None, ["trust_remote_code=true"], {}).findings.equals(run.findings)
    other = {**options, "trust_remote_code": not trusted}
    assert audit("house/writer", output=run.path, **other).findings.equals(run.findings)
    study = {**options, "output": tmp_path / "study"}
    first = before_after("house/writer", ["prefix=Be kind."], **study)
    again = before_after("house/writer", ["prefix=Be kind."], **{**study, "trust_remote_code": not trusted})
    assert again.verdicts.equals(first.verdicts)


@pytest.mark.parametrize(
    ("name", "environment", "asked"),
    [
        ("gpt2", {}, None),
        ("toxigen?model=org/other", {}, None),
        ("scores:mine.csv?column=x", {}, None),
        ("perplexity:gpt2", {}, None),
        ("http://localhost:8000/v1#m", {}, Server("localhost:8000", "", True)),
        ("http://[::1]:8000/v1#m", {"OPENAI_API_KEY": "k"}, Server("[::1]:8000", "", True)),
        ("http://localhost:8000/v1#m", {"EVENHAND_API_KEY": "k"}, Server("localhost:8000", "EVENHAND_API_KEY", False)),
        ("http://10.0.0.7/v1#m", {}, Server("10.0.0.7", "", False)),
        ("perplexity:http://10.0.0.7/v1#m", {}, Server("10.0.0.7", "", False)),
        ("https://localhost.evil.org/v1#m", {}, Server("localhost.evil.org", "", False)),
        ("https://api.openai.com/v1#m", {"OPENAI_API_KEY": "k"}, Server("api.openai.com", "OPENAI_API_KEY", True)),
        ("https://api.openai.com:443/v1#m", {}, Server("api.openai.com:443", "", True)),
        ("https://api.openai.com:8443/v1#m", {}, Server("api.openai.com:8443", "", False)),
        ("https://api.openai.com/v1#m", {"EVENHAND_API_KEY": "k"}, Server("api.openai.com", "EVENHAND_API_KEY", False)),
        ("http://api.openai.com/v1#m", {"OPENAI_API_KEY": "k"}, Server("api.openai.com", "OPENAI_API_KEY", False)),
        ("https://api.openai.com/v1#m?key=HOME", {"HOME": "h"}, Server("api.openai.com", "HOME", False)),
        ("perspective", {"PERSPECTIVE_API_KEY": "k"}, Server(GOOGLE, "PERSPECTIVE_API_KEY", True)),
        ("perspective?url=https://x.org", {"PERSPECTIVE_API_KEY": "k"}, Server("x.org", "PERSPECTIVE_API_KEY", False)),
        ("moderation", {"OPENAI_API_KEY": "k"}, Server("api.openai.com", "OPENAI_API_KEY", True)),
        ("moderation?key_variable=HOME", {}, Server("api.openai.com", "HOME", False)),
        ("llm-judge?model=m", {"OPENAI_API_KEY": "k"}, Server("$OPENAI_BASE_URL", "OPENAI_API_KEY", True)),
        ("llm-judge?model=m&key_variable=HOME", {}, Server("$OPENAI_BASE_URL", "HOME", False)),
        ("llm-judge?model=m&url=http%3A%2F%2F127.0.0.1:9%2Fv1", {}, Server("127.0.0.1:9", "", True)),
        ("somebody/service?at=HTTPS%3A%2F%2Fevil.org", {}, Server("evil.org", "", False)),
    ],
)  # fmt: skip
def test_who_is_asked_behind_a_name(name: str, environment: dict[str, str], asked: Server | None) -> None:
    assert find_server(name, environment) == asked


@pytest.mark.parametrize("host", ["api.openai.com@evil.org", "evil.org\\.api.openai.com"])
def test_an_address_that_two_readers_may_read_differently_is_none(host: str) -> None:
    with pytest.raises(UsageError):
        find_server(f"https://{host}/v1#m", {"OPENAI_API_KEY": "k"})


def test_every_judge_that_asks_a_service_is_known() -> None:
    """Whoever adds a service adds where it asks: else a folder could have its key sent."""
    assert {name for name, module in BACKENDS.items() if ".services." in module} == SERVICES.keys()
