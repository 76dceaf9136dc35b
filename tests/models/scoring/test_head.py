"""The output head against torch's own logsumexp in 64 bits."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from evenhand.models.scoring import head
from evenhand.models.scoring.head import Head


@pytest.mark.parametrize("pieces", [1, 3, 100])
def test_edges_are_normalised_whatever_the_pieces(monkeypatch: pytest.MonkeyPatch, pieces: int) -> None:
    torch.manual_seed(0)
    projection = torch.nn.Linear(8, 50)
    model: Any = SimpleNamespace(get_output_embeddings=lambda: projection, config=SimpleNamespace())
    monkeypatch.setattr(head, "MOST_ON_PROCESSOR", 50 * 7)
    monkeypatch.setattr(head, "IN_CACHE", 50 * pieces)
    hidden, rows = 5 * torch.randn(30, 8), torch.arange(0, 30, 2)
    edge_rows = torch.arange(15).repeat_interleave(2)
    tokens = torch.randint(50, (30,))
    with torch.inference_mode():
        expected = projection.double()(hidden.double()).log_softmax(-1)[rows[edge_rows], tokens].float()
        projection.float()
        found = Head(model).log_probs(hidden, rows, edge_rows, tokens)
    torch.testing.assert_close(found, expected, atol=2e-6, rtol=1e-6)


def test_broken_rows_stay_among_themselves() -> None:
    projection = torch.nn.Identity()
    projection.weight = torch.zeros(3, 3)
    model: Any = SimpleNamespace(get_output_embeddings=lambda: projection, config=SimpleNamespace())
    hidden = torch.tensor([[0.0, 1.0, 2.0], [float("nan"), 1.0, 2.0], [float("inf"), 1.0, 2.0]])
    rows = torch.arange(3)
    found = Head(model).log_probs(hidden, rows, rows, torch.full((3,), 2))
    assert found.isfinite().tolist() == [True, False, False]
    assert found[0] == pytest.approx(float(torch.tensor([0.0, 1.0, 2.0]).log_softmax(-1)[2]))
