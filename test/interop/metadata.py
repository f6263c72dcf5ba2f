"""Encrypts a document's metadata, stored beside the document's wrapped key."""

import json
import os
from hashlib import sha3_256
from typing import NamedTuple, TypedDict

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import strict_base64
from key_wrap import WRAPPED_BYTES, derive_key, unwrap_key, wrap_key

VERSION = b"\x01"
NONCE_BYTES = 12
PADDED_TO_BYTES = 256


class Metadata(TypedDict):
    name: str
    mediaType: str
    size: int
    fileHash: str


class OpenMetadata(NamedTuple):
    document_key: bytes
    metadata: Metadata


def padded_text(metadata: Metadata) -> bytes:
    text = json.dumps(metadata, ensure_ascii=False, separators=(",", ":")).encode()
    return text + b" " * (-len(text) % PADDED_TO_BYTES)


def wrapping_key(master_key: bytes) -> bytes:
    return derive_key(master_key, "Service_Document_Key_Wrap_v1")


def encrypt_metadata(
    master_key: bytes, document_key: bytes, metadata: Metadata, nonce: bytes | None = None
) -> str:
    """Encrypts metadata. Only test vectors pass a nonce."""
    nonce = os.urandom(NONCE_BYTES) if nonce is None else nonce
    head = VERSION + wrap_key(wrapping_key(master_key), document_key)
    cipher = AESGCM(derive_key(document_key, "Service_Metadata_v1"))
    return strict_base64.encode(head + nonce + cipher.encrypt(nonce, padded_text(metadata), head))


def decrypt_metadata(master_key: bytes, encrypted_metadata: str) -> OpenMetadata:
    """Decrypts metadata. Raises ValueError, InvalidUnwrap or InvalidTag unless they are encrypted
    under this master key."""
    data = strict_base64.decode(encrypted_metadata)
    head, rest = data[: 1 + WRAPPED_BYTES], data[1 + WRAPPED_BYTES :]
    if head[:1] != VERSION:
        raise ValueError("unknown version of encrypted metadata")
    document_key = unwrap_key(wrapping_key(master_key), head[1:])
    cipher = AESGCM(derive_key(document_key, "Service_Metadata_v1"))
    text = cipher.decrypt(rest[:NONCE_BYTES], rest[NONCE_BYTES:], head)
    return OpenMetadata(document_key, parse_metadata(json.loads(text)))


def metadata_hash(encrypted_metadata: str) -> str:
    return sha3_256(strict_base64.decode(encrypted_metadata)).hexdigest()


def parse_metadata(value: object) -> Metadata:
    match value:
        case {
            "name": str(name),
            "mediaType": str(media_type),
            "size": int(size),
            "fileHash": str(file_hash),
        }:
            return Metadata(name=name, mediaType=media_type, size=size, fileHash=file_hash)
    raise ValueError("not a document's metadata")
