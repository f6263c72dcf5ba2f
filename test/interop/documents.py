"""Stores files as sealed documents, adds versions, changes metadata, and reads documents."""

import os
import uuid
from collections.abc import Iterable
from hashlib import sha3_256
from typing import Any, NamedTuple

from cryptography.hazmat.primitives.keywrap import InvalidUnwrap

import strict_base64
from audit_proof import AuditProof, verify_proof
from authorship import StatedVersion, state, verify_author
from content import content_commitment, create_content
from encrypted_file import create_header, decrypt_file, encrypt_file
from document_key import Version, file_key, wrap_earlier_key
from identity import load_identity, read_names
from keywords import keyword_hashes, normalize_keywords
from memory import read_list
from metadata import (
    Metadata,
    OpenMetadata,
    Place,
    decrypt_metadata,
    encrypt_metadata,
    metadata_hash,
)
from session import MasterKeys
from uploads import upload
from vault_http import VaultHttp


class Document(NamedTuple):
    """A version of a document as the vault shows it, and what its owner's keys open."""

    id: str
    status: str
    etag: str
    encrypted_metadata: str
    document_key: bytes
    place: Place
    metadata: Metadata

    @property
    def file_key(self) -> bytes:
        return file_key(self.document_key, self.place.version)

    @property
    def stated(self) -> StatedVersion:
        content, size = self.metadata["content"], self.metadata["size"]
        return StatedVersion(
            self.id,
            self.place.version.number,
            self.metadata["fileHash"],
            metadata_hash(self.encrypted_metadata),
            content_commitment(content, size),
        )


class Encrypted(NamedTuple):
    """A file and its metadata, encrypted for one version."""

    file: bytes
    encrypted_metadata: str
    content_commitment: str


def store_file(
    http: VaultHttp,
    keys: MasterKeys,
    name: str,
    media_type: str,
    plaintext: bytes,
    keywords: Iterable[str],
) -> Document:
    """Encrypts and stores a file as a document. Raises ValueError if the vault created another
    one."""
    document_key = os.urandom(32)
    place = Place(Version(str(uuid.uuid4()), 1), key_generation=keys.generation)
    described = {"name": name, "mediaType": media_type, "keywords": normalize_keywords(keywords)}
    encrypted = encrypt_version(keys, document_key, place, plaintext, described)
    document_id = place.version.document_id
    document = http.post(
        "/v1/documents",
        {
            "id": document_id,
            "storagePath": upload(http, encrypted.file),
            "encryptedMetadata": encrypted.encrypted_metadata,
            "keywordDeterministic": keyword_hashes(keys.present, keywords),
            "contentCommitment": encrypted.content_commitment,
        },
    )
    if document["id"] != document_id:
        raise ValueError("the vault created another document")
    return read_document(http, keys, document_id)


def encrypt_version(
    keys: MasterKeys,
    document_key: bytes,
    place: Place,
    plaintext: bytes,
    described: dict[str, Any],
) -> Encrypted:
    """Encrypts a file and its metadata. `described` are the members that do not depend on the
    file."""
    key = file_key(document_key, place.version)
    file = encrypt_file(key, create_header(key), plaintext)
    content = create_content(plaintext)
    metadata = Metadata(
        **described,
        size=len(plaintext),
        fileHash=sha3_256(file).hexdigest(),
        content=content,
    )
    encrypted_metadata = encrypt_metadata(keys.present, document_key, place, metadata)
    commitment = content_commitment(content, len(plaintext))
    return Encrypted(file, encrypted_metadata, commitment)


def add_version(http: VaultHttp, keys: MasterKeys, document_id: str, plaintext: bytes) -> Document:
    """Adds a version to a document, under a new document key if a rekey came after the present one.
    Raises VaultError and never resumes."""
    present = read_document(http, keys, document_id)
    version = Version(document_id, present.place.version.number + 1)
    names = ("name", "mediaType", "keywords")
    described = {name: present.metadata[name] for name in names}
    document_key, generation = present.document_key, present.place.key_generation
    if generation != keys.generation:
        document_key, generation = os.urandom(32), keys.generation
        earlier = wrap_earlier_key(document_key, document_id, present.document_key)
        described["earlierKey"] = strict_base64.encode(earlier)
    previous = bytes.fromhex(metadata_hash(present.encrypted_metadata))
    place = Place(version, 0, previous, generation)
    encrypted = encrypt_version(keys, document_key, place, plaintext, described)
    body = {
        "storagePath": upload(http, encrypted.file),
        "encryptedMetadata": encrypted.encrypted_metadata,
        "contentCommitment": encrypted.content_commitment,
    }
    http.post(f"/v1/documents/{document_id}/versions", body, {"If-Match": present.etag})
    return read_document(http, keys, document_id)


def change_metadata(
    http: VaultHttp,
    keys: MasterKeys,
    document_id: str,
    name: str | None = None,
    keywords: list[str] | None = None,
) -> Document:
    """Changes the metadata of the present version, which must not be sealed. Raises VaultError."""
    present = read_document(http, keys, document_id)
    metadata = present.metadata.copy()
    if name is not None:
        metadata["name"] = name
    if keywords is not None:
        metadata["keywords"] = normalize_keywords(keywords)
    place = present.place._replace(change=present.place.change + 1)
    encrypted = encrypt_metadata(keys.present, present.document_key, place, metadata)
    body = {
        "encryptedMetadata": encrypted,
        "keywordDeterministic": keyword_hashes(keys.present, metadata["keywords"]),
    }
    http.put(f"/v1/documents/{document_id}/metadata", body, {"If-Match": present.etag})
    return read_document(http, keys, document_id)


def certify(
    http: VaultHttp, keys: MasterKeys, document: Document, trusted_key_id: str
) -> AuditProof:
    """States and certifies the present version of a document. Raises ValueError, InvalidSignature or
    StatementError unless the proof is of this version and has the statement of this user."""
    author, stated = load_identity(http, keys.present), document.stated
    statement = state(author, read_names(http), stated, "document.sealed")
    proof_id = http.post(f"/v1/documents/{document.id}/certify", statement)["proofId"]
    proof: AuditProof = http.get(f"/v1/audit/proof/{proof_id}")
    entry = verify_proof(proof, trusted_key_id)
    match entry:
        case {
            "action": "document.sealed",
            "outcome": "success",
            "resource": {"type": "document", "id": stated.document_id},
            "data": {
                "version": stated.version,
                "fileHash": stated.file_hash,
                "metadataHash": stated.metadata_hash,
                "contentCommitment": stated.content_commitment,
            },
        } if verify_author(entry, author.public.fingerprint) is not None:
            return proof
    raise ValueError("the proof belongs to another document, or lacks the statement")


def delete(http: VaultHttp, keys: MasterKeys, document_id: str) -> None:
    """Deletes a document, and states so."""
    stated = read_document(http, keys, document_id).stated
    author = load_identity(http, keys.present)
    statement = state(author, read_names(http), stated, "document.deleted")
    http.delete(f"/v1/documents/{document_id}", statement)


def read_documents(http: VaultHttp, keys: MasterKeys, page_size: int) -> list[Document]:
    """Reads all documents, newest first. Raises as `read_document` does."""
    items = http.get_pages("/v1/documents", page_size)
    return [read_document(http, keys, item["id"]) for item in items]


def read_document(http: VaultHttp, keys: MasterKeys, document_id: str) -> Document:
    """Reads the present version of a document. Raises ValueError if its metadata belongs to another
    file or document, or is not in the list of the rekey before which it was made."""
    shown, etag = http.get_tagged(f"/v1/documents/{document_id}")
    opened, is_present = open_metadata(keys, document_id, shown["encryptedMetadata"])
    if opened.metadata["fileHash"] != shown["fileHash"]:
        raise ValueError("the metadata belongs to another file")
    document = Document(document_id, shown["status"], etag, shown["encryptedMetadata"], *opened)
    if not is_present:
        listed = read_list(http, keys)["documents"].get(document_id)
        if listed != state_of(document):
            raise ValueError("the document is not in the list of the rekey")
    return document


def state_of(document: Document) -> dict[str, Any]:
    """Returns the state of a document as reports have it."""
    return {
        "version": document.place.version.number,
        "change": document.place.change,
        "metadataHash": document.stated.metadata_hash,
    }


def read_versions(http: VaultHttp, keys: MasterKeys, document_id: str) -> list[Document]:
    """Reads all versions of a document, newest first. Raises ValueError unless each names the hash of
    the one before, up to the present one."""
    present = read_document(http, keys, document_id)
    versions, previous = [present], present.place.previous
    pages = http.get_pages(f"/v1/documents/{document_id}/versions")
    shown = {item["version"]: item for item in pages}
    for number in range(present.place.version.number - 1, 0, -1):
        item = shown[number]
        if metadata_hash(item["encryptedMetadata"]) != previous.hex():
            raise ValueError("an earlier version was exchanged")
        opened, _ = open_metadata(keys, document_id, item["encryptedMetadata"])
        if opened.place.version.number != number:
            raise ValueError("the metadata is of another version")
        versions.append(
            Document(document_id, item["status"], "", item["encryptedMetadata"], *opened)
        )
        previous = opened.place.previous
    return versions


def open_metadata(
    keys: MasterKeys, document_id: str, encrypted_metadata: str
) -> tuple[OpenMetadata, bool]:
    """Opens metadata with the first master key that fits. Returns whether it is the present one. An
    earlier one does not vouch for the generation of the document key."""
    for master_key in keys.all:
        try:
            opened = decrypt_metadata(master_key, document_id, encrypted_metadata)
        except InvalidUnwrap:
            continue
        if master_key == keys.present:
            return opened, True
        return opened._replace(place=opened.place._replace(key_generation=0)), False
    raise ValueError("no master key opens the metadata")


def download(
    http: VaultHttp, document_id: str, version: int, key: bytes, file_hash: str
) -> bytes:
    """Downloads and decrypts a version. Raises ValueError or InvalidTag for another file."""
    path = f"/v1/documents/{document_id}/download?version={version}"
    encrypted = http.get_bytes(path, {"If-Match": f'"{file_hash}"'})
    if sha3_256(encrypted).hexdigest() != file_hash:
        raise ValueError("the vault sent another file")
    return decrypt_file(key, encrypted)
