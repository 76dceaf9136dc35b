"""What the name of a served model may say, and where its key goes."""

import pytest

from evenhand.models.loading import load_model
from evenhand.models.served.model import HttpModel, HttpOptions, load_http_model
from evenhand.models.served.options import api_key, is_address, split_address
from evenhand.schema import UsageError


def test_a_name_holds_address_model_and_options():
    base, model, options = split_address(
        "https://host:8443/v1/#org/m%3Av2?chat=1&system=Be+kind.&concurrency=64&per_minute=90.5&store=none&seeded=no"
    )
    assert (base, model) == ("https://host:8443/v1", "org/m:v2")
    assert options == HttpOptions(
        chat=True, system="Be kind.", concurrency=64, per_minute=90.5, store=None, seeded=False
    )
    assert split_address("http://h/v1") == ("http://h/v1", "", HttpOptions())


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("http://h/v1#m?chatt=1", "Did you mean 'chat'"),
        ("http://h/v1#m?chat=maybe", "The option chat of a served model must be true or false, got"),
        ("http://h/v1#m?concurrency=many", "The option concurrency of a served model must be a whole"),
        ("http://h/v1#m?concurrency=0", "positive"),
        ("http://h/v1#m?system=x", r"system message\) of a served model requires chat mode\.\nAdd chat=1"),
        (
            "http://h/v1#m?chat=1&start=x",
            "start is used for likelihoods, which a served model does not compute in chat mode",
        ),
        ("http://me:word@h/v1#m", "password"),
        ("http://h/v1?key=1#m", "query"),
        ("http://[::1/v1#m", "is not a valid URL of a service"),
        ("http://h:port/v1#m", "is not a valid URL of a service"),
        ("http://h:99999/v1#m", "is not a valid URL of a service"),
        ("http://h/\x00v1#m", "is not a valid URL of a service"),
        ("http://h\n/v1#m", "is not a valid URL of a service"),
        ("http://h/v1#m?timeout=nan", "of a served model must be a finite number"),
        ("http://h/v1#m?pause=nan", "of a served model must be a finite number"),
        ("http://h/v1#m?pause=-1", r"pause must be a number of seconds, 0 or more, got -1\.0"),
        (
            "http://h/v1#m?key=NO_SUCH_VARIABLE",
            "NO_SUCH_VARIABLE, which the option key of the served model names, is not set",
        ),
    ],
)
def test_names_that_cannot_be(name, said):
    with pytest.raises(UsageError, match=said):
        load_http_model(name)


def test_load_model_takes_addresses_and_nothing_that_belongs_to_weights():
    model = load_model("http://localhost:1/v1#m?concurrency=3", device="cpu", batch_tokens=512)
    assert isinstance(model, HttpModel)
    assert (model.served.model, model.client.concurrency, model.architecture) == ("m", 3, "causal")
    assert load_model("http://localhost:1/v1#m", options=HttpOptions(chat=True)).options.chat
    for wrong in ({"device": "cuda"}, {"dtype": "float16"}, {"revision": "main"}, {"architecture": "masked"}):
        with pytest.raises(UsageError):
            load_model("http://localhost:1/v1#m", **wrong)
    with pytest.raises(UsageError, match="HttpOptions"):
        load_model("http://localhost:1/v1#m", options=3)
    with pytest.raises(UsageError, match="the argument `options` was given, too"):
        load_model("http://localhost:1/v1#m?chat=1", options=HttpOptions())


def test_a_hub_name_is_no_address():
    assert not is_address("openai/gpt-oss-20b")
    assert not is_address("httpx/model")


@pytest.mark.parametrize(
    ("base", "options", "environment", "key"),
    [
        ("http://localhost:8000/v1", {}, {}, ""),
        ("http://localhost:8000/v1", {}, {"EVENHAND_API_KEY": "own"}, "own"),
        ("http://localhost:8000/v1", {}, {"OPENAI_API_KEY": "theirs"}, ""),
        ("https://openai.com.example.org/v1", {}, {"OPENAI_API_KEY": "theirs"}, ""),
        ("https://api.openai.com/v1", {}, {"OPENAI_API_KEY": "theirs"}, "theirs"),
        ("https://api.openai.com/v1", {}, {"OPENAI_API_KEY": "theirs", "EVENHAND_API_KEY": "own"}, "own"),
        ("http://other/v1", {"key": "OPENAI_API_KEY"}, {"OPENAI_API_KEY": "theirs"}, "theirs"),
    ],
)
def test_a_key_goes_only_where_it_belongs(base, options, environment, key):
    assert api_key(base, HttpOptions(**options), environment)[0] == key


def test_what_changes_the_answers_is_in_the_conventions_and_the_rest_is_not():
    plain = HttpOptions().conventions()
    for change in (
        {"chat": True},
        {"extended": True},
        {"seeded": False},
        {"logprobs": True},
        {"start": "<s>"},
    ):
        assert HttpOptions(**change).conventions() != plain
    assert HttpOptions(chat=True, system="x").conventions() != HttpOptions(chat=True).conventions()
    for change in ({"concurrency": 3}, {"timeout": 1.0}, {"store": None}, {"per_minute": 3.0}):
        assert HttpOptions(**change).conventions() == plain


def test_options_in_front_of_the_name_are_told_where_they_stand():
    with pytest.raises(UsageError, match="contains a query before the model name") as caught:
        load_http_model("http://host/v1?key=SECRET_VALUE#m")
    assert "http://host/v1#m?option=value" in caught.value.hint
    assert "SECRET_VALUE" not in str(caught.value)
