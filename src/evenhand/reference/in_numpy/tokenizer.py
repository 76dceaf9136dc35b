"""The embedded model's tokenizer without transformers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from evenhand.schema import read_json

AGAIN = "Install evenhand again."


class SmallTokenizer:
    """Read a tokenizer.json with the interface of transformers' tokenizers that scoring, generation and dialogues
    use."""

    chat_template: ClassVar[None] = None

    def __init__(self, folder: Path):
        from tokenizers import Tokenizer

        self.backend_tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.backend_tokenizer.no_truncation()
        self.backend_tokenizer.no_padding()
        said = read_json(folder / "tokenizer_config.json", AGAIN)
        roles = ("bos_token", "eos_token", "unk_token", "pad_token")
        self.special_tokens_map = {role: str(said[role]) for role in roles if said.get(role) is not None}
        self.all_special_tokens = list(dict.fromkeys(self.special_tokens_map.values()))

    @property
    def bos_token_id(self) -> int | None:
        """Return the id of the token before a text."""
        return self.convert_tokens_to_ids(self.special_tokens_map.get("bos_token"))

    @property
    def eos_token_id(self) -> int | None:
        """Return the id of the token that ends a text."""
        return self.convert_tokens_to_ids(self.special_tokens_map.get("eos_token"))

    @property
    def unk_token_id(self) -> int | None:
        """Return the id of the token for unknown text."""
        return self.convert_tokens_to_ids(self.special_tokens_map.get("unk_token"))

    def convert_tokens_to_ids(self, token: str | None) -> int | None:
        """Return the id of a token; for an unknown one, that of the unknown token."""
        if token is None:
            return None
        found: int | None = self.backend_tokenizer.token_to_id(token)
        return self.unk_token_id if found is None and token != self.special_tokens_map["unk_token"] else found

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = False, **_: object) -> str:
        """Return the text of tokens without clean-up."""
        text: str = self.backend_tokenizer.decode(list(ids), skip_special_tokens=skip_special_tokens)
        return text
