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


def wrap_earlier_key(document_key: bytes, document_id: str, earlier: bytes) -> bytes:
    """Wraps the key that a document had before."""
    return wrap_key(earlier_wrapping_key(document_key, document_id), earlier)


def unwrap_earlier_key(document_key: bytes, document_id: str, wrapped: bytes) -> bytes:
    """Unwraps the key that a document had before. Raises InvalidUnwrap."""
    return unwrap_key(earlier_wrapping_key(document_key, document_id), wrapped)


def earlier_wrapping_key(document_key: bytes, document_id: str) -> bytes:
    return derive_key(document_key, "Service_Earlier_Document_Key_v1", document_id.encode())


def version_key(document_key: bytes, version: Version) -> bytes:
    salt = version.document_id.encode() + version.number.to_bytes(4, "big")
    return derive_key(document_key, "Service_Version_Key_v1", salt)


def file_key(document_key: bytes, version: Version) -> bytes:
    return file_key_of(version_key(document_key, version))


def file_key_of(key_of_version: bytes) -> bytes:
    return derive_key(key_of_version, "Service_File_Key_v1")
