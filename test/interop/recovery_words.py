"""Makes and normalizes the 24 words by which an account is recovered."""

import os
import unicodedata

from mnemonic import Mnemonic

from passwords import Method
from white_space import single_spaces

ENTROPY_BYTES = 32
RECOVERY = Method(
    {"method": "recovery"}, "Service_Recovery_Auth_v1", "Service_Recovery_Envelope_v1"
)
ENGLISH = Mnemonic("english")


def create_words(entropy: bytes | None = None) -> str:
    """Makes new words. Only test vectors pass entropy."""
    return ENGLISH.to_mnemonic(os.urandom(ENTROPY_BYTES) if entropy is None else entropy)


def normalize_words(typed: str) -> str:
    """Normalizes recovery words. Raises ValueError unless there are 24 of the list, with the right
    checksum. It names the places of words that are not on the list, and none of the words."""
    words = single_spaces(unicodedata.normalize("NFKD", typed).lower()).split(" ")
    if len(words) != 24:
        raise ValueError("recovery takes 24 words")
    known = set(ENGLISH.wordlist)
    unknown = [place for place, word in enumerate(words, start=1) if word not in known]
    if unknown:
        raise ValueError(f"words that are not on the list: {unknown}")
    if not ENGLISH.check(" ".join(words)):
        raise ValueError("the words have a wrong checksum")
    return " ".join(words)
