"""Wraps keys with AES key wrap, master keys for their envelopes too, and derives keys with HKDF.
Every key has 32 bytes."""

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.keywrap import aes_key_unwrap, aes_key_wrap

WRAPPED_BYTES = 40


def wrap_key(wrapping_key: bytes, key: bytes) -> bytes:
    return aes_key_wrap(wrapping_key, key)


def unwrap_key(wrapping_key: bytes, wrapped: bytes) -> bytes:
    """Unwraps a key. Raises InvalidUnwrap for another wrapping key, ValueError for another
    length."""
    if len(wrapped) != WRAPPED_BYTES:
        raise ValueError("a wrapped key has 40 bytes")
    return aes_key_unwrap(wrapping_key, wrapped)


def derive_key(key: bytes, label: str, salt: bytes = b"") -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=salt, info=label.encode()).derive(key)


def wrap_master_key(key: bytes, master_key: bytes, generation: int) -> bytes:
    """Wraps a master key for an envelope. The first generation is 1."""
    return wrap_key(master_key_wrapping_key(key, generation), master_key)


def unwrap_master_key(key: bytes, envelope: bytes, generation: int) -> bytes:
    """Opens an envelope. Raises InvalidUnwrap for another key or generation."""
    return unwrap_key(master_key_wrapping_key(key, generation), envelope)


def master_key_wrapping_key(key: bytes, generation: int) -> bytes:
    return derive_key(key, f"Service_Master_Key_Wrap_v1:{generation}")
