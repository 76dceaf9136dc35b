"""Errors of a classifier that cannot be loaded list those that work offline, in the form of the caller's option."""

import pytest

from evenhand.classifiers import describe_offline, load_or_advise, offline_for
from evenhand.schema import ModelError, UsageError


def test_an_option_of_the_command_line_gets_flags() -> None:
    with pytest.raises(ModelError, match="Cannot load the classifier: ") as refused:
        load_or_advise("./absent", "regard", option="--method 'x?classifier=NAME'")
    error = refused.value
    assert error.hint is not None and "the path of its folder: --method 'x?classifier=FOLDER'." in error.hint
    assert "To use another classifier: --method 'x?classifier=NAME'" in error.hint
    assert error.hint.endswith(describe_offline("regard"))
    assert error.flags == ("--method", "x?classifier=vader") and error.replaced == ("./absent",)


def test_python_code_gets_an_example() -> None:
    with pytest.raises(ModelError) as refused:
        load_or_advise("./absent", "gender", option="judge('NAME')")
    assert refused.value.hint is not None and not refused.value.flags
    assert refused.value.hint.endswith("For example:\n  judge('evenhand/gendered-words')")


def test_a_role_without_an_offline_classifier_has_no_example() -> None:
    with pytest.raises(ModelError) as refused:
        load_or_advise("./absent", "style", option="judge('NAME')")
    assert not offline_for("style") and "For example" not in (refused.value.hint or "")


def test_a_misspelt_name_gets_its_own_error() -> None:
    with pytest.raises(UsageError, match="Did you mean 'toxigen'"):
        load_or_advise("toxygen", "toxicity")
