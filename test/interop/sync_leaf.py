"""Encrypts one leaf of a synchronised object, bound to its object and pointer."""

import json
import os
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import strict_base64
from key_wrap import derive_key

VERSION = b"\x01"
NONCE_BYTES = 12
SMALLEST_BYTES = 32
BLOCK_BYTES = 1024


def leaf_key(master_key: bytes, object_id: str) -> bytes:
    return derive_key(master_key, "Service_Sync_Leaf_v1", object_id.encode())


def padded_bytes(length: int) -> int:
    """Returns the padded length: the next power of two up to a block, then whole blocks."""
    if length > BLOCK_BYTES:
        return length + -length % BLOCK_BYTES
    return max(SMALLEST_BYTES, 1 << (length - 1).bit_length())


def seal_leaf(
    master_key: bytes, object_id: str, pointer: str, value: Any, nonce: bytes | None = None
) -> str:
    """Encrypts a leaf. Only test vectors pass a nonce."""
    nonce = os.urandom(NONCE_BYTES) if nonce is None else nonce
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    padded = text.ljust(padded_bytes(len(text)), b" ")
    place = VERSION + object_id.encode() + pointer.encode()
    sealed = AESGCM(leaf_key(master_key, object_id)).encrypt(nonce, padded, place)
    return strict_base64.encode(VERSION + nonce + sealed)


def open_leaf(master_key: bytes, object_id: str, pointer: str, sealed: str) -> Any:
    """Decrypts a leaf. Raises ValueError or InvalidTag unless it is encrypted for this place."""
    data = strict_base64.decode(sealed)
    if data[:1] != VERSION:
        raise ValueError("unknown version of a leaf")
    nonce, rest = data[1 : 1 + NONCE_BYTES], data[1 + NONCE_BYTES :]
    place = VERSION + object_id.encode() + pointer.encode()
    return json.loads(AESGCM(leaf_key(master_key, object_id)).decrypt(nonce, rest, place))
