"""The number from which everything random in one continuation is drawn."""

import hashlib


def continuation_key(seed: int, prompt: str, sample: int) -> int:
    """A whole number below 2**128 that seed, prompt and sample decide, and nothing else does.

    The key behind `continuations.row_uniforms`, for generators that draw elsewhere: a server takes part of it as
    its seed.

    >>> continuation_key(0, "Hi", 1) == continuation_key(0, "Hi", 1) != continuation_key(0, "Hi", 2)
    True
    """
    text = f"{seed} {sample} {prompt}".encode(errors="surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=16).digest(), "little")
