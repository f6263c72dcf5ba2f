"""Derives keys from a password."""

import unicodedata
from hashlib import sha3_256
from typing import NamedTuple

from argon2.low_level import Type, hash_secret_raw

AUTH_LABEL = "Service_SRP_Auth_v1"
ENVELOPE_LABEL = "Service_Master_Envelope_v1"


class Method(NamedTuple):
    """How a user logs in: the member that names it in a challenge, and the labels of its keys."""

    challenge: dict[str, str]
    auth_label: str
    envelope_label: str


PASSWORD = Method({}, AUTH_LABEL, ENVELOPE_LABEL)


def argon2_salt(label: str, salt: bytes) -> bytes:
    return sha3_256(label.encode() + b"\x00" + salt).digest()[:16]


def password_key(password: str, salt: bytes, label: str) -> bytes:
    """Derives 32 bytes. Raises ValueError for an empty password, one without a UTF-8 form, and one
    with characters that this Python's Unicode does not know: another client may normalize them."""
    if password == "":
        raise ValueError("the password is empty")
    if any(unicodedata.category(character) == "Cn" for character in password):
        raise ValueError("the password has an unknown character")
    return hash_secret_raw(
        secret=unicodedata.normalize("NFKC", password).encode(),
        salt=argon2_salt(label, salt),
        time_cost=3,
        memory_cost=65536,
        parallelism=1,
        hash_len=32,
        type=Type.ID,
        version=0x13,
    )
