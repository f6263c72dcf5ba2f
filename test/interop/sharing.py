"""Shares documents with other users, and opens what others share."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from cryptography.exceptions import InvalidTag

import strict_base64
from authorship import state
from document_key import file_key_of, version_key
from documents import Document, download, read_document, read_versions
from hpke import open_sealed, seal
from identity import Identity, PublicIdentity, decode_keys, is_signed, load_identity, read_names
from metadata import Metadata, decode_metadata, decrypt_text
from session import MasterKeys
from vault_http import VaultHttp

SHARE_LABEL = b"Service_Document_Share_v1"
VERSION_LABEL = b"Service_Version_Share_v1"
SIGNATURE_LABEL = "Service_Share_Signature_v1"


class Received(NamedTuple):
    """A document that somebody shares, opened. `file_key` opens the file of its version."""

    share_id: str
    expires_at: str | None
    document_id: str
    version: int
    is_of_one_version: bool
    file_key: bytes
    metadata: Metadata


def encode_version(document_id: str, version: int) -> bytes:
    return document_id.encode() + version.to_bytes(4, "big")


def share_message(document_id: str, version: int, recipient: bytes, wrapped_key: bytes) -> bytes:
    """Returns what a sharer signs. `recipient` is the hash of the recipient's identity; `version` is
    0 for all of them."""
    return encode_version(document_id, version) + recipient + wrapped_key


class Recipient(NamedTuple):
    """A person with whom documents are shared. `id` is what the vault calls them."""

    id: str
    identity: PublicIdentity


class Terms(NamedTuple):
    """The version that alone is shared, when the share ends, and the share that ends with it."""

    only_version: int | None = None
    expires_at: str | None = None
    replaces: str | None = None


def find_recipient(http: VaultHttp, email: str, fingerprint: str) -> Recipient:
    """Finds the person whose identity has this fingerprint. Raises ValueError if the vault shows
    another identity."""
    shown = http.post("/v1/documents/share-key", {"recipientEmail": email})
    identity = decode_keys(shown)
    if identity.fingerprint != fingerprint:
        raise ValueError("the recipient has another fingerprint")
    return Recipient(shown["recipientId"], identity)


def share(
    http: VaultHttp,
    keys: MasterKeys,
    document_id: str,
    recipient: Recipient,
    terms: Terms = Terms(),
) -> str:
    """Shares a document, or only one version, with a person, and states so. Returns the id of the
    share."""
    only_version, expires_at, replaces = terms
    document, author = find(http, keys, document_id, only_version), load_identity(http, keys.present)
    number = only_version or 0
    wrapped = seal_for(recipient.identity, document, number)
    message = share_message(document_id, number, recipient.identity.hash, wrapped)
    shared = {
        "recipientFingerprint": recipient.identity.fingerprint,
        "sharedVersion": only_version,
    }
    chosen = {"version": only_version, "expiresAt": expires_at, "replaces": replaces}
    body = {
        "recipientId": recipient.id,
        "wrappedKey": strict_base64.encode(wrapped),
        "permissions": ["read"],
        "signature": strict_base64.encode(author.sign(SIGNATURE_LABEL, message)),
        "authorStatement": state(
            author, read_names(http), document.stated, "document.shared", shared
        ),
        **{name: value for name, value in chosen.items() if value is not None},
    }
    share_id: str = http.post(f"/v1/documents/{document_id}/share", body)["id"]
    return share_id


def renew_shares(
    http: VaultHttp, keys: MasterKeys, document_id: str, recipient: Recipient
) -> list[str]:
    """Makes the running shares of all versions of a document with a person anew, once the document
    has a new key. Returns their ids. This client remembers nothing, so that when they end is the
    vault's word."""
    now = datetime.now(UTC)
    return [
        share(http, keys, document_id, recipient, Terms(None, item["expiresAt"], item["id"]))
        for item in list(http.get_pages(f"/v1/documents/{document_id}/shares"))
        if item["recipientId"] == recipient.id
        and item["version"] is None
        and (item["expiresAt"] is None or datetime.fromisoformat(item["expiresAt"]) > now)
    ]


def find(http: VaultHttp, keys: MasterKeys, document_id: str, version: int | None) -> Document:
    """Reads a version of a document, the present one by default."""
    if version is None:
        return read_document(http, keys, document_id)
    versions = read_versions(http, keys, document_id)
    return next(one for one in versions if one.place.version.number == version)


def end_share(http: VaultHttp, keys: MasterKeys, document_id: str, share_id: str) -> None:
    """Ends a share, and states so."""
    stated = read_document(http, keys, document_id).stated
    author, names = load_identity(http, keys.present), read_names(http)
    statement = state(author, names, stated, "document.unshared", {"shareId": share_id})
    http.delete(f"/v1/documents/{document_id}/shares/{share_id}", statement)


def receive(http: VaultHttp, keys: MasterKeys, sharer: str) -> Iterator[Received]:
    """Opens the shares that the person with this fingerprint signed, newest first. Leaves out those
    whose signature, key, metadata and file do not fit together, since anyone can send such."""
    own = [load_identity(http, keys.present), *keys.earlier_identities]
    for item in http.get_pages("/v1/documents/shared"):
        if item["sharer"] is None or decode_keys(item["sharer"]).fingerprint != sharer:
            continue
        try:
            yield open_share(own, item)
        except (InvalidTag, TypeError, ValueError):
            continue


def open_share(own: list[Identity], item: dict[str, Any]) -> Received:
    """Opens a share. Raises ValueError, TypeError or InvalidTag unless all of it fits together."""
    document_id, number = item["documentId"], item["version"] or 0
    wrapped = strict_base64.decode(item["wrappedKey"])
    recipient, key = open_as(own, document_id, number, wrapped)
    message = share_message(document_id, number, recipient.hash, wrapped)
    signature, signer = strict_base64.decode(item["signature"]), decode_keys(item["sharer"])
    if not is_signed(signer.signing_key, SIGNATURE_LABEL, message, signature):
        raise ValueError("the share is signed by somebody else")
    encoded = decode_metadata(document_id, item["encryptedMetadata"])
    version = encoded.place.version
    if number not in (0, version.number):
        raise ValueError("the share is of another version")
    key_of_version = version_key(key, version) if number == 0 else key
    metadata = decrypt_text(key_of_version, encoded)
    if metadata["fileHash"] != item["fileHash"]:
        raise ValueError("the metadata belongs to another file")
    return Received(
        item["shareId"],
        item["expiresAt"],
        document_id,
        version.number,
        number != 0,
        file_key_of(key_of_version),
        metadata,
    )


def download_share(http: VaultHttp, received: Received) -> bytes:
    """Downloads the file of a share. Raises as `download` does."""
    file_hash = received.metadata["fileHash"]
    return download(http, received.document_id, received.version, received.file_key, file_hash)


def open_as(
    own: list[Identity], document_id: str, number: int, wrapped: bytes
) -> tuple[PublicIdentity, bytes]:
    """Opens the key of a share by the first of the user's identities for which it was made."""
    for identity in own:
        try:
            return identity.public, open_key(identity.private_key, document_id, number, wrapped)
        except InvalidTag:
            continue
    raise ValueError("the share is for nobody of this user's identities")


def open_key(private_key: bytes, document_id: str, number: int, wrapped: bytes) -> bytes:
    if number == 0:
        return open_document_key(private_key, document_id, wrapped)
    return open_version_key(private_key, document_id, number, wrapped)


def seal_for(recipient: PublicIdentity, document: Document, number: int) -> bytes:
    """Encrypts the key of a document, or of one version, for its recipient."""
    if number == 0:
        info = SHARE_LABEL + document.id.encode()
        return seal(recipient.public_key, info, document.document_key)
    info = VERSION_LABEL + encode_version(document.id, number)
    return seal(recipient.public_key, info, version_key(document.document_key, document.place.version))


def open_document_key(private_key: bytes, document_id: str, wrapped_key: bytes) -> bytes:
    """Opens a document key. Raises InvalidTag for another recipient or document."""
    return open_sealed(private_key, SHARE_LABEL + document_id.encode(), wrapped_key)


def open_version_key(private_key: bytes, document_id: str, version: int, wrapped_key: bytes) -> bytes:
    """Opens the key of one version. Raises InvalidTag for another recipient, document or version."""
    return open_sealed(private_key, VERSION_LABEL + encode_version(document_id, version), wrapped_key)
