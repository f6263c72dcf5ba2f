"""Encrypts the metadata of one version of a document, beside the document's wrapped key."""

import json
import os
from hashlib import sha3_256
from typing import NamedTuple, NotRequired, TypedDict
from uuid import UUID

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import strict_base64
from content import Content
from document_key import Version, unwrap_document_key, version_key, wrap_document_key
from key_wrap import WRAPPED_BYTES, derive_key

FORMAT = b"\x03"
PREVIOUS_BYTES = 32
HEADER_BYTES = 1 + 16 + 4 + 4 + PREVIOUS_BYTES + 4
NONCE_BYTES = 12
PADDED_TO_BYTES = 256


class Metadata(TypedDict):
    name: str
    mediaType: str
    size: int
    fileHash: str
    keywords: list[str]
    content: Content
    # Of the first version under a new document key: the key before, wrapped.
    earlierKey: NotRequired[str]


class Place(NamedTuple):
    """A place in the history of a document."""

    version: Version
    change: int = 0
    previous: bytes = bytes(PREVIOUS_BYTES)
    key_generation: int = 1

    def encode(self) -> bytes:
        numbers = self.version.number.to_bytes(4, "big") + self.change.to_bytes(4, "big")
        place = UUID(self.version.document_id).bytes + numbers + self.previous
        return FORMAT + place + self.key_generation.to_bytes(4, "big")


class OpenMetadata(NamedTuple):
    document_key: bytes
    place: Place
    metadata: Metadata


class Encoded(NamedTuple):
    """Encrypted metadata in its parts."""

    place: Place
    header: bytes
    wrapped_key: bytes
    nonce: bytes
    text: bytes

    @property
    def context(self) -> bytes:
        """The hash of all of the metadata but the wrapped key."""
        return context(self.header, self.nonce + self.text)


def padded_text(metadata: Metadata) -> bytes:
    text = json.dumps(metadata, ensure_ascii=False, separators=(",", ":")).encode()
    return text + b" " * (-len(text) % PADDED_TO_BYTES)


def cipher(key_of_version: bytes) -> AESGCM:
    return AESGCM(derive_key(key_of_version, "Service_Metadata_v3"))


def encrypt_metadata(
    master_key: bytes,
    document_key: bytes,
    place: Place,
    metadata: Metadata,
    nonce: bytes | None = None,
) -> str:
    """Encrypts metadata. Only test vectors pass a nonce."""
    nonce = os.urandom(NONCE_BYTES) if nonce is None else nonce
    header = place.encode()
    key = version_key(document_key, place.version)
    text = cipher(key).encrypt(nonce, padded_text(metadata), header)
    sealed = nonce + text
    wrapped = wrap_document_key(master_key, context(header, sealed), document_key)
    return strict_base64.encode(header + wrapped + sealed)


def decode_metadata(document_id: str, encrypted_metadata: str) -> Encoded:
    """Takes encrypted metadata apart. Raises ValueError if it is of another document."""
    data = strict_base64.decode(encrypted_metadata)
    header, rest = data[:HEADER_BYTES], data[HEADER_BYTES:]
    wrapped, sealed = rest[:WRAPPED_BYTES], rest[WRAPPED_BYTES:]
    if header[:1] != FORMAT or len(wrapped) < WRAPPED_BYTES:
        raise ValueError("unknown version of encrypted metadata")
    if str(UUID(bytes=header[1:17])) != document_id:
        raise ValueError("the metadata is of another document")
    version = Version(document_id, int.from_bytes(header[17:21], "big"))
    change, key_generation = (int.from_bytes(header[at : at + 4], "big") for at in (21, 57))
    place = Place(version, change, header[25:57], key_generation)
    return Encoded(place, header, wrapped, sealed[:NONCE_BYTES], sealed[NONCE_BYTES:])


def decrypt_metadata(
    master_key: bytes, document_id: str, encrypted_metadata: str
) -> OpenMetadata:
    """Decrypts metadata. Raises ValueError if it is of another document, and ValueError,
    InvalidUnwrap or InvalidTag unless it is encrypted under this master key."""
    encoded = decode_metadata(document_id, encrypted_metadata)
    document_key = unwrap_document_key(master_key, encoded.context, encoded.wrapped_key)
    key = version_key(document_key, encoded.place.version)
    return OpenMetadata(document_key, encoded.place, decrypt_text(key, encoded))


def decrypt_text(key_of_version: bytes, encoded: Encoded) -> Metadata:
    """Decrypts metadata with the key of its version. Raises ValueError or InvalidTag."""
    text = cipher(key_of_version).decrypt(encoded.nonce, encoded.text, encoded.header)
    return parse_metadata(json.loads(text))


def context(header: bytes, sealed: bytes) -> bytes:
    return sha3_256(header + sealed).digest()


def metadata_hash(encrypted_metadata: str) -> str:
    return sha3_256(strict_base64.decode(encrypted_metadata)).hexdigest()


def parse_metadata(value: object) -> Metadata:
    match value:
        case {
            "name": str(name),
            "mediaType": str(media_type),
            "size": int(size),
            "fileHash": str(file_hash),
            "keywords": list(keywords),
            "content": {"seed": str(seed), "root": str(root), "sha256": str(sha256)},
        } if all(isinstance(keyword, str) for keyword in keywords):
            metadata = Metadata(
                name=name,
                mediaType=media_type,
                size=size,
                fileHash=file_hash,
                keywords=keywords,
                content=Content(seed=seed, root=root, sha256=sha256),
            )
            match value:
                case {"earlierKey": str(earlier_key)}:
                    metadata["earlierKey"] = earlier_key
            return metadata
    raise ValueError("not a document's metadata")
