"""Base64 of which every text of bytes has one spelling."""

from base64 import b64decode, b64encode


def encode(data: bytes) -> str:
    return b64encode(data).decode()


def decode(text: str) -> bytes:
    """Raises ValueError for another spelling of the same bytes."""
    data = b64decode(text, validate=True)
    if encode(data) != text:
        raise ValueError("not canonical base64")
    return data
