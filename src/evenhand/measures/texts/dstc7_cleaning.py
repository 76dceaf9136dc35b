"""Replies as the seventh Dialog System Technology Challenge cleans and cuts them before it scores them.

Lower case, addresses as one token, few punctuation marks, contractions apart; cut as NLTK's TweetTokenizer cuts, of
which only what can match on the characters that are left is needed.
"""

import re

LINKED = re.compile(r"\[([^\]]*)\] \( *__url__ *\)")
"""Markdown: the words stay, the address goes."""
REMOVED = re.compile(r"[^A-Za-z0-9():,.!?\"']")
HANGING = re.compile(r"([^a-z0-9])\1{3,}")
"""More than three times the same mark: three stay."""
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
    """A reply as DSTC7's evaluation cleans it: tokens in lower case with single spaces between them.

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
    """Cut as NLTK's TweetTokenizer does, for lower-case text of letters, digits, underscores and ():,.!?"' alone.

    >>> tweet_tokens("it's 3.50, so what.... :(")
    ["it's", '3.50', ',', 'so', 'what', '...', ':(']
    """
    return TWEET_TOKEN.findall(HANGING.sub(r"\1\1\1", plain))
