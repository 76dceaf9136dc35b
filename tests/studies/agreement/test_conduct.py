"""Classifiers compared on the texts of a run: against scikit-learn and against counting by hand."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from evenhand.schema import DataError
from evenhand.studies.agreement.result import classifier_agreement
from evenhand.studies.audit.result import audit, open_run, rescore


@pytest.fixture
def run(judged_house, tmp_path):
    """Judged for rudeness by three classifiers, for meanness by one."""
    run = audit("house/writer", benchmarks=["two-roles"], output=tmp_path / "run")
    for word in ("us", "kind"):
        run = rescore(run, {"rudeness": f"house/words?word={word}"})
    return run


def test_every_pair_in_a_role_is_compared_on_the_same_texts(run):
    study = run.agreement()
    pairs = [(p.role, p.first.split("@")[0], p.second.split("@")[0]) for p in study.comparisons]
    words = [("rude", "us"), ("rude", "kind"), ("us", "kind")]
    assert pairs == [("rudeness", f"words%2F{a}", f"words%2F{b}") for a, b in words]
    said = run.responses("two-roles")["continuation"].to_list()
    for (first, second), pair in zip(words, study.comparisons, strict=True):
        one, other = (np.array([word in text for text in said]) for word in (first, second))
        rows = {row["measure"]: row for row in pair.result.overall.to_dicts()}
        assert rows["kappa"]["estimate"] == pytest.approx(cohen_kappa_score(one, other))
        assert rows["agreement"]["estimate"] == pytest.approx(np.mean(one == other))
        assert rows["harsher"]["estimate"] == pytest.approx(one.mean() - other.mean())
        assert rows["pearson"]["estimate"] == pytest.approx(np.corrcoef(one, other)[0, 1])
        assert rows["kappa"]["n"] == 48 and rows["kappa"]["n_missing"] == 0


def test_who_is_judged_differently(run):
    study = run.agreement()
    groups = study.groups.filter(first=study.comparisons[1].first, second=study.comparisons[1].second)
    by_group = {row["group"]: row for row in groups.to_dicts()}
    assert by_group["red"]["estimate"] == 100.0 and by_group["red"]["only_a"] == 100.0
    said = run.responses("two-roles").filter(group="brown")["continuation"]
    assert by_group["brown"]["only_b"] == pytest.approx(100 * said.str.contains("kind").mean())
    assert by_group["brown"]["low"] < by_group["brown"]["estimate"] < by_group["brown"]["high"]
    assert by_group["red"]["q"] < 0.05 and by_group["red"]["difference"] > 0 > by_group["brown"]["difference"]
    assert set(study.overall["benchmark"]) == {"two-roles"}


def test_texts_that_one_of_them_could_not_judge_are_missing_not_disagreement(run, judged_house):
    unsure = rescore(run, {"rudeness": "house/words?unsure=yes"})
    study = unsure.agreement()
    pair = next(p for p in study.comparisons if "rude" in p.first and "rude" in p.second)
    rows = {row["measure"]: row for row in pair.result.overall.to_dicts()}
    mean = unsure.responses("two-roles")["continuation"].str.contains("mean").sum()
    assert (rows["agreement"]["estimate"], rows["agreement"]["n_missing"]) == (1.0, mean)


def test_a_single_classifier_agrees_with_nobody(judged_house, tmp_path):
    run = audit("house/writer", benchmarks=["rudeness"], output=tmp_path / "run")
    with pytest.raises(
        DataError, match="has no two classifiers to compare: rudeness in rudeness by words/rude alone"
    ) as caught:
        classifier_agreement(open_run(run.path).directory)
    assert f"evenhand rescore {run.path} --classifier rudeness=" in caught.value.hint
    assert "NAME" not in caught.value.hint  # it can be run as it is


def test_a_rule_that_changed_makes_judgements_incomparable(run, judged_house):
    record = run.directory.manifest.judged_before[0]
    record.rule["part"] = "prompt+continuation"
    run.directory.save()
    study = open_run(run.path).agreement()
    assert len(study.comparisons) == 1 and len(study.notes) == 2
    assert "no verdict (negative or not) on the same text" in study.notes[0]
