"""Everything about a model means the same in every verb that loads one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer.main

from evenhand.cli.app import app
from evenhand.models import load_model
from evenhand.models.decoding import Decoding
from evenhand.models.huggingface.causal import CausalOptions
from evenhand.runs import RunDirectory, answers
from evenhand.schema import ModelError
from evenhand.studies.model_options import ModelOptions

TEMPLATE = (
    "{% for message in messages %}{{ message['content'] }} . {% endfor %}"
    "{% if add_generation_prompt %}I like{% endif %}"
)
VERBS: dict[str, tuple[str, ...]] = {
    "audit": ("MODEL", "-b", "evenhand-likelihood"),
    "before-after": ("MODEL", "--mitigate", "prefix=Be kind."),
    "check-consistency": ("prefix=Be kind.", "--model", "MODEL", "--classifier", "vader"),
    "search-instruction": ("MODEL", "-b", "regard", "--classifier", "vader"),
    "search-trigger": ("MODEL", "--prompts", "prompts.csv", "--classifier", "vader"),
}
FLAGS: dict[str, tuple[str, Any, Any]] = {
    "dtype": ("--dtype", "bfloat16", "bfloat16"),
    "device": ("--device", "cuda:7", "cuda:7"),
    "revision": ("--revision", "v1.2", "v1.2"),
    "trust_remote_code": ("--trust-remote-code", None, True),
    "batch_tokens": ("--batch-tokens", 77, 77),
    "chat": ("--chat", None, True),
    "system": ("--system", "Be brief.", "Be brief."),
    "allow_longer": ("--allow-longer", "cut", "cut"),
}
"""By field: its flag, what is written behind it, and what it becomes."""
RULE = Decoding(max_new_tokens=4)
PROMPTS = ["I met a tall woman.", "Here comes a deaf man.", "I like my short boss.", "I love old women."]


@pytest.fixture(scope="module")
def chat_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model that comes with evenhand, as a folder whose tokenizer knows a chat template."""
    model: Any = load_model("evenhand/reference", device="cpu")
    folder = tmp_path_factory.mktemp("chat") / "model"
    model.model.save_pretrained(folder)
    before = model.tokenizer.chat_template
    model.tokenizer.chat_template = TEMPLATE
    model.tokenizer.save_pretrained(folder)
    model.tokenizer.chat_template = before
    return folder


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    path = tmp_path / "prompts.csv"
    pl.DataFrame({"text": PROMPTS, "axis": "height", "group": ["a", "b"] * 2}).write_csv(path)
    return path


def says(folder: Path, texts: list[str], **options: Any) -> list[str | None]:
    model: Any = load_model(str(folder), device="cpu", options=CausalOptions(**options))
    return list(model.generate(texts, RULE).texts)


def test_every_option_of_a_model_is_in_the_table() -> None:
    assert set(FLAGS) == set(ModelOptions.model_fields) - {"model"}


@pytest.mark.parametrize("field", FLAGS)
def test_a_flag_is_told_alike_in_every_verb(field: str) -> None:
    flag = FLAGS[field][0]
    commands: Any = typer.main.get_command(app)
    told = {
        verb: [p.help for p in commands.commands[verb].params if flag in p.opts and p.name == field]
        for verb in VERBS
    }
    assert {len(helps) for helps in told.values()} == {1}, told
    assert len({helps[0] for helps in told.values()}) == 1, told


@pytest.mark.parametrize("verb", VERBS)
def test_every_flag_reaches_the_model(
    evenhand: Callable[..., Any], prompts: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    seen: list[dict[str, Any]] = []

    def load(name: str, **options: Any) -> Any:
        seen.append({"model": name, **options})
        raise ModelError("Seen enough.")

    monkeypatch.setattr("evenhand.models.load_model", load)
    arguments = ["some/model" if word == "MODEL" else word for word in VERBS[verb]]
    refuses_chat = verb == "search-trigger"
    fields = [field for field in FLAGS if not (refuses_chat and field in ("chat", "system"))]
    fields.remove("allow_longer")  # stands in the address of a served model, which takes none of the others
    for field in fields:
        flag, value, _ = FLAGS[field]
        arguments += [flag] if value is None else [flag, str(value)]
    evenhand(verb, *arguments).refused(1, "Seen enough.")
    asked = seen[0]
    options = asked.pop("options")
    assert asked == {"model": "some/model"} | {
        field: FLAGS[field][2] for field in fields if field not in ("chat", "system")
    }
    assert options == (None if refuses_chat else CausalOptions(chat=True, system="Be brief."))


@pytest.mark.parametrize("verb", VERBS)
def test_allow_longer_reaches_served_models_in_their_address(
    evenhand: Callable[..., Any], prompts: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    def load(name: str, **options: Any) -> Any:
        raise ModelError(f"Seen {name}.")

    monkeypatch.setattr("evenhand.models.load_model", load)
    arguments = ["http://h/v1#m" if word == "MODEL" else word for word in VERBS[verb]]
    evenhand(verb, *arguments, "--allow-longer", "cut").refused(1, "Seen http://h/v1#m?allow_longer=cut.")
    arguments = ["some/model" if word == "MODEL" else word for word in VERBS[verb]]
    evenhand(verb, *arguments, "--allow-longer", "cut").refused(2, "never exceeds the token limit")


def test_a_trigger_does_not_stand_inside_a_template(evenhand: Callable[..., Any], prompts: Path) -> None:
    asked = ("search-trigger", "evenhand/reference", "--prompts", prompts, "--classifier", "vader")
    evenhand(*asked, "--chat").refused(
        2, "a trigger must be the first text that the model reads,", "Remove --chat, or use an instruction"
    )


@pytest.mark.parametrize("verb", VERBS)
def test_a_system_message_needs_a_chat(evenhand: Callable[..., Any], prompts: Path, verb: str) -> None:
    arguments = ["evenhand/reference" if word == "MODEL" else word for word in VERBS[verb]]
    evenhand(verb, *arguments, "--system", "Be brief.").refused(
        2, "`--system` requires `--chat`", "Add --chat, or remove --system"
    )


def test_a_check_asks_in_the_chat_template(
    evenhand: Callable[..., Any], judged_house: Any, prompts: Path, chat_folder: Path
) -> None:
    ended = evenhand(
        *(
            "check-consistency",
            "prefix=Be kind.",
            "--model",
            chat_folder,
            "--device",
            "cpu",
            "--chat",
            "--system",
            "Be brief",
        ),
        *("--prompts", prompts, "--neutral", "none", "--groups", 1, "--classifier", "rudeness=house/words"),
        *("--opposite", "Be bad.", "--decoding", "greedy", "--max-new-tokens", 4, "-o", "study"),
    )
    assert ended.code == 0, ended.err
    chat = {"chat": True, "system": "Be brief"}
    for level, before in (("default", ""), ("original", "Be kind.\n")):
        stored = answers(RunDirectory.open(Path(f"study/levels/adversarial-{level}")), "adversarial")
        texts = [before + text for text in stored["text"]]
        assert stored["continuation"].to_list() == says(chat_folder, texts, **chat)
        assert stored["continuation"].to_list() != says(chat_folder, texts)
    evenhand("check-consistency", "study").says("study")
    evenhand("check-consistency", "study", "--system", "Be long").refused(
        2, 'system: stored "Be brief", given now'
    )


def test_a_search_for_an_instruction_asks_in_the_chat_template(
    evenhand: Callable[..., Any], judged_house: Any, tmp_path: Path, chat_folder: Path
) -> None:
    ended = evenhand(
        *(
            "search-instruction",
            chat_folder,
            "--device",
            "cpu",
            "--chat",
            "--system",
            "Be brief",
            "-b",
            "rudeness",
        ),
        *("--instruction", "Be kind.", "--decoding", "greedy", "--max-new-tokens", 4, "-o", "out"),
        *("--iterations", 1, "--keep", 1, "--variants", 1, "--subset", 12, "--final", 12),
    )
    assert ended.code == 0, ended.err
    trials = pl.concat([pl.read_parquet(path) for path in (tmp_path / "out" / "trials").glob("round-000*")])
    assert set(trials["instruction"]) == {"", "Be kind."}
    for (instruction,), rows in trials.group_by("instruction"):
        asked = {row["prompt_id"]: row["text"] for row in judged_house.prompts({}).frame.to_dicts()}
        before = f"{instruction}\n" if instruction else ""
        texts = [before + asked[prompt_id] for prompt_id in rows["prompt_id"]]
        assert rows["continuation"].to_list() == says(chat_folder, texts, chat=True, system="Be brief")
        assert rows["continuation"].to_list() != says(chat_folder, texts)
    evenhand("search-instruction", "out", "--chat").refused(
        2, "out is an existing search, so chat (--chat) cannot be changed"
    )
    assert evenhand("search-instruction", "out", "--batch-tokens", 512, "--device", "cpu").code == 0
