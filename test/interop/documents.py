"""Stores files as sealed documents, and reads documents."""

import os
import uuid
from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha3_256, sha256
from typing import NamedTuple

from audit_proof import AuditProof, verify_proof
from content import content_commitment, create_content
from encrypted_file import SEGMENT_BYTES, create_header, encrypt_file
from document_key import Version, file_key
from keywords import keyword_hashes, normalize_keywords
from metadata import Metadata, Place, decrypt_metadata, encrypt_metadata, metadata_hash
from vault_http import VaultHttp

PART_BYTES = 16 * 1024 * 1024
MEDIA_TYPE = "application/octet-stream"


class Stored(NamedTuple):
    document_id: str
    size: int
    file_hash: str
    metadata_hash: str
    content_commitment: str
    metadata: Metadata


class Document(NamedTuple):
    id: str
    status: str
    file_key: bytes
    metadata: Metadata


def store_file(
    http: VaultHttp,
    master_key: bytes,
    name: str,
    media_type: str,
    plaintext: bytes,
    keywords: Iterable[str],
) -> Stored:
    """Encrypts and stores a file as a document. Raises ValueError if the vault hashed another
    file."""
    document_key = os.urandom(32)
    version = Version(str(uuid.uuid4()), 1)
    key = file_key(document_key, version)
    encrypted = encrypt_file(key, create_header(key), plaintext)
    file_hash = sha3_256(encrypted).hexdigest()
    content = create_content(plaintext)
    commitment = content_commitment(content, len(plaintext))
    metadata = Metadata(
        name=name,
        mediaType=media_type,
        size=len(plaintext),
        fileHash=file_hash,
        keywords=normalize_keywords(keywords),
        content=content,
    )
    encrypted_metadata = encrypt_metadata(master_key, document_key, Place(version), metadata)
    document = http.post(
        "/v1/documents",
        {
            "id": version.document_id,
            "storagePath": upload(http, encrypted),
            "encryptedMetadata": encrypted_metadata,
            "keywordDeterministic": keyword_hashes(master_key, keywords),
            "contentCommitment": commitment,
        },
    )
    if document["id"] != version.document_id or document["fileHash"] != file_hash:
        raise ValueError("the vault created another document, or hashed another file")
    return Stored(
        version.document_id,
        len(encrypted),
        file_hash,
        metadata_hash(encrypted_metadata),
        commitment,
        metadata,
    )


def upload(http: VaultHttp, encrypted: bytes) -> str:
    """Uploads a file and returns its key. Raises VaultError and never resumes, since the next try
    encrypts with new keys."""
    part_bytes = choose_part_bytes(len(encrypted), http.get("/v1/uploads/config")["maxParts"])
    parts = [
        encrypted[start : start + part_bytes] for start in range(0, len(encrypted), part_bytes)
    ]
    opened = http.post(
        "/v1/uploads",
        {
            "fileName": f"{uuid.uuid4()}.bin",
            "fileSize": len(encrypted),
            "mimeType": MEDIA_TYPE,
            "totalParts": len(parts),
        },
    )
    path = f"/v1/uploads/{opened['sessionId']}"
    for number, part in enumerate(parts, start=1):
        digest = b64encode(sha256(part).digest()).decode()
        http.put_bytes(f"{path}/parts/{number}", part, {"Content-Digest": f"sha-256=:{digest}:"})
    file_key: str = http.post(f"{path}/complete")["fileKey"]
    return file_key


def choose_part_bytes(size: int, max_parts: int) -> int:
    """Returns a multiple of the segment size: 16 MiB, or more if there would be too many parts."""
    needed = -(-size // max_parts)
    return max(PART_BYTES, -(-needed // SEGMENT_BYTES) * SEGMENT_BYTES)


def certify(http: VaultHttp, stored: Stored, trusted_key_id: str) -> AuditProof:
    """Certifies a document. Raises ValueError or InvalidSignature unless the proof is of this
    document."""
    proof_id = http.post(f"/v1/documents/{stored.document_id}/certify")["proofId"]
    proof: AuditProof = http.get(f"/v1/audit/proof/{proof_id}")
    match verify_proof(proof, trusted_key_id):
        case {
            "action": "document.sealed",
            "outcome": "success",
            "resource": {"type": "document", "id": stored.document_id},
            "data": {
                "fileHash": stored.file_hash,
                "metadataHash": stored.metadata_hash,
                "size": stored.size,
                "contentCommitment": stored.content_commitment,
            },
        }:
            return proof
    raise ValueError("the proof belongs to another document")


def read_documents(http: VaultHttp, master_key: bytes, page_size: int) -> list[Document]:
    """Reads all documents, newest first. Raises as `read_document` does."""
    items = http.get_pages("/v1/documents", page_size)
    return [read_document(http, master_key, item["id"]) for item in items]


def read_document(http: VaultHttp, master_key: bytes, document_id: str) -> Document:
    """Reads a document. Raises ValueError if its metadata belongs to another file or document."""
    document = http.get(f"/v1/documents/{document_id}")
    opened = decrypt_metadata(master_key, document_id, document["encryptedMetadata"])
    if opened.metadata["fileHash"] != document["fileHash"]:
        raise ValueError("the metadata belongs to another file")
    key = file_key(opened.document_key, opened.place.version)
    return Document(document_id, document["status"], key, opened.metadata)
