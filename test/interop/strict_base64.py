"""Encodes bytes as base64, and refuses any but the canonical encoding."""

from base64 import b64decode, b64encode


def encode(data: bytes) -> str:
    return b64encode(data).decode()


def decode(text: str) -> bytes:
    """Decodes base64. Raises ValueError for another spelling of the same bytes."""
    data = b64decode(text, validate=True)
    if encode(data) != text:
        raise ValueError("not canonical base64")
    return data
