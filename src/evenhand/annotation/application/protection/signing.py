"""Signatures of a study: links of invites, and tokens in forms."""

import hashlib
from dataclasses import dataclass

from itsdangerous import BadData, BadSignature, Signer, URLSafeSerializer


@dataclass(frozen=True)
class Signatures:
    """Signatures with the study's secret. Each use has its own salt, so one signature cannot replace another."""

    secret: bytes

    def invite_token(self, invite: str) -> str:
        """Return the signed token of an invite for use in a link."""
        return str(self._invites.dumps(invite))

    def invite(self, token: str) -> str | None:
        """Return the id in a link, or None if its signature is wrong."""
        try:
            invite = self._invites.loads(token)
        except BadData:
            return None
        return invite if isinstance(invite, str) else None

    def form_token(self, secret: str) -> str:
        """Return the token for the forms of a session (or of a visitor without a session)."""
        return self._forms.get_signature(secret).decode()

    def is_form_token(self, secret: str, token: str) -> bool:
        """Return True if a form token was made for this session (compared in constant time)."""
        try:
            return bool(self._forms.verify_signature(secret, token))
        except (BadSignature, ValueError):
            return False

    @property
    def _invites(self) -> URLSafeSerializer:
        return URLSafeSerializer(
            self.secret, salt="evenhand.invite", signer_kwargs={"digest_method": hashlib.sha256}
        )

    @property
    def _forms(self) -> Signer:
        return Signer(self.secret, salt="evenhand.form", digest_method=hashlib.sha256)
