"""Hashes keywords so that the vault can compare them without reading them."""

import hmac
import unicodedata
from collections.abc import Iterable

from key_wrap import derive_key
from white_space import single_spaces


def normalize_keyword(keyword: str) -> str:
    return single_spaces(unicodedata.normalize("NFKC", keyword).lower())


def keyword_hash(master_key: bytes, keyword: str) -> str:
    key = derive_key(master_key, "Service_Keyword_v1")
    return hmac.digest(key, normalize_keyword(keyword).encode(), "sha256").hex()


def normalize_keywords(keywords: Iterable[str]) -> list[str]:
    """Normalizes keywords, without duplicates, in the order of UTF-16 code units."""
    normalized = {normalize_keyword(keyword) for keyword in keywords}
    return sorted(normalized, key=lambda keyword: keyword.encode("utf-16-be"))


def keyword_hashes(master_key: bytes, keywords: Iterable[str]) -> list[str]:
    return sorted({keyword_hash(master_key, keyword) for keyword in keywords})
