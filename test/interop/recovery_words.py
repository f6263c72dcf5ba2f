"""The 24 words by which an account is recovered. Their list and checksum are left to others: words that
are wrong open nothing."""

import unicodedata

from white_space import single_spaces

AUTH_LABEL = "Service_Recovery_Auth_v1"
ENVELOPE_LABEL = "Service_Recovery_Envelope_v1"


def normalize_words(typed: str) -> str:
    """Raises ValueError for other than 24 words."""
    words = single_spaces(unicodedata.normalize("NFKD", typed).lower())
    if len(words.split(" ")) != 24:
        raise ValueError("recovery takes 24 words")
    return words
