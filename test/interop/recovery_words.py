"""Normalizes the 24 words by which an account is recovered. Their list and checksum are not
checked, as wrong words open nothing."""

import unicodedata

from white_space import single_spaces

AUTH_LABEL = "Service_Recovery_Auth_v1"
ENVELOPE_LABEL = "Service_Recovery_Envelope_v1"


def normalize_words(typed: str) -> str:
    """Normalizes recovery words. Raises ValueError unless there are 24."""
    words = single_spaces(unicodedata.normalize("NFKD", typed).lower())
    if len(words.split(" ")) != 24:
        raise ValueError("recovery takes 24 words")
    return words
