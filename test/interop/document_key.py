"""Wraps the keys of documents, and derives the keys of their versions."""

from typing import NamedTuple

from key_wrap import derive_key, unwrap_key, wrap_key


class Version(NamedTuple):
    document_id: str
    number: int


def wrap_document_key(master_key: bytes, context: bytes, document_key: bytes) -> bytes:
    """Wraps a key. It unwraps only with the same context."""
    return wrap_key(wrapping_key(master_key, context), document_key)


def unwrap_document_key(master_key: bytes, context: bytes, wrapped: bytes) -> bytes:
    """Unwraps a key. Raises InvalidUnwrap for another master key or context."""
    return unwrap_key(wrapping_key(master_key, context), wrapped)


def wrapping_key(master_key: bytes, context: bytes) -> bytes:
    return derive_key(master_key, "Service_Document_Key_Wrap_v3", context)


def unwrap_earlier_key(document_key: bytes, document_id: str, wrapped: bytes) -> bytes:
    """Unwraps the key that a document had before. Raises InvalidUnwrap."""
    salt = document_id.encode()
    return unwrap_key(derive_key(document_key, "Service_Earlier_Document_Key_v1", salt), wrapped)


def version_key(document_key: bytes, version: Version) -> bytes:
    salt = version.document_id.encode() + version.number.to_bytes(4, "big")
    return derive_key(document_key, "Service_Version_Key_v1", salt)


def file_key(document_key: bytes, version: Version) -> bytes:
    return derive_key(version_key(document_key, version), "Service_File_Key_v1")
