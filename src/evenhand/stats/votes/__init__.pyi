from .exact import (
    binomial_p as binomial_p,
    minimal_significant as minimal_significant,
    published_agreement as published_agreement,
    stars as stars,
)
