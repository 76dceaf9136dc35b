"""Clean and tokenise replies as the seventh Dialog System Technology Challenge (DSTC7) does before scoring.

Texts become lower case, with URLs as one token, few punctuation marks and separated contractions. Tokens are those of
NLTK's TweetTokenizer, of which only the rules for the remaining characters are needed.
"""

import re

LINKED = re.compile(r"\[([^\]]*)\] \( *__url__ *\)")
"""Markdown links: the words remain, the URL is removed."""
REMOVED = re.compile(r"[^A-Za-z0-9():,.!?\"']")
HANGING = re.compile(r"([^a-z0-9])\1{3,}")
"""More than three equal punctuation marks are reduced to three."""
TWEET_TOKEN = re.compile(
    r"""
      [a-z0-9]+ (?: \.[a-z0-9]+ )* \.[a-z]{2,13} \b        # a domain without http: also "end.the"
    | (?: [01][ .)]* )? (?: \(?\d{3}[ .)]* )? \d{3}[ .)]*\d{4}      # a telephone number
    | [:8][o']?[)(dp:] | [)(dp:][o']?[:8]                  # a face: eyes, nose, mouth, or the other way round
    | [a-z][a-z'_]+[a-z]                                   # a word, with apostrophes within
    | \d+[,.:]\d+
    | \w+
    | \.(?:\ *\.)+
    | \S
    """,
    re.VERBOSE,
)
IRREGULAR = ((" won't ", " will n't "), (" can't ", " can n't "))
ENDINGS = ("'s", "'m", "'re", "n't", "'ll", "'ve", "'d", "'em")


def clean_reply(text: str) -> str:
    """Return a reply as DSTC7's evaluation cleans it: lower-case tokens separated by single spaces.

    Source: the evaluation of DSTC7, task 2 (option -c); Galley et al. 2019, Grounded Response Generation Task at DSTC7.

    >>> clean_reply(" I don't know:). how about this?https://github.com")
    "i do n't know :) . how about this ? __url__"
    """
    words = []
    for word in text.lower().split():
        start = word.find("http")
        words.append(f"{word[:start]} __url__".strip() if start >= 0 else word)
    plain = LINKED.sub(r"\1", " ".join(words))
    plain = REMOVED.sub(" ", plain.replace("__url__", "URL")).replace("URL", "__url__")
    cut = f" {' '.join(tweet_tokens(plain))} "
    for whole, apart in IRREGULAR:
        cut = cut.replace(whole, apart)
    for ending in ENDINGS:
        cut = cut.replace(f"{ending} ", f" {ending} ")
    return " ".join(cut.split())


def tweet_tokens(plain: str) -> list[str]:
    """Return the tokens of NLTK's TweetTokenizer, for lower-case text.

    The text may contain letters, digits, underscores and ():,.!?"' only.

    >>> tweet_tokens("it's 3.50, so what.... :(")
    ["it's", '3.50', ',', 'so', 'what', '...', ':(']
    """
    return TWEET_TOKEN.findall(HANGING.sub(r"\1\1\1", plain))
