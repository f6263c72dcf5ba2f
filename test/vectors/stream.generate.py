"""Makes stream.json from docs/formats.md alone, with the package `cryptography` and nothing of the
TypeScript client. Run: python3 stream.generate.py"""

import hmac
import json
from base64 import b64encode
from hashlib import sha256, sha3_256
from pathlib import Path
from uuid import UUID

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.keywrap import aes_key_wrap

PASSWORD_KEY = sha256(b"password key").digest()
MASTER_KEY = sha256(b"master key").digest()
DOCUMENT_KEY = sha256(b"document key").digest()
DOCUMENT_ID = "01890a5d-ab72-7c08-9d4e-1e8f6b2a9c35"
VERSION = 2
CHANGE = 1
KEY_GENERATION = 3
CONTENT_SEED = sha256(b"content seed").digest()
EARLIER_DOCUMENT_KEY = sha256(b"earlier document key").digest()
PREVIOUS = sha3_256(b"the metadata of version 1").digest()


def derive(key: bytes, label: str, salt: bytes = b"") -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=salt, info=label.encode()).derive(key)


ENVELOPE_KEY = derive(PASSWORD_KEY, "Service_Master_Key_Wrap_v1:1")
VERSION_KEY = derive(
    DOCUMENT_KEY, "Service_Version_Key_v1", DOCUMENT_ID.encode() + VERSION.to_bytes(4, "big")
)
FILE_KEY = derive(VERSION_KEY, "Service_File_Key_v1")


def encrypt_file(plaintext: bytes, segment_size: int, salt: bytes, nonce_prefix: bytes) -> bytes:
    commitment = derive(FILE_KEY, "Service_File_Commitment_v1", salt)
    header = b"PROBATIO\x01" + segment_size.to_bytes(4, "big") + salt + nonce_prefix + commitment
    gcm = AESGCM(derive(FILE_KEY, "Service_File_Chunk_v1", salt))
    first = segment_size - 16 - len(header)
    chunks, rest = [plaintext[:first]], plaintext[first:]
    while rest:
        chunks.append(rest[: segment_size - 16])
        rest = rest[segment_size - 16 :]
    sealed = header
    for index, chunk in enumerate(chunks):
        last = index == len(chunks) - 1
        nonce = nonce_prefix + index.to_bytes(4, "big") + (b"\x01" if last else b"\x00")
        sealed += gcm.encrypt(nonce, chunk, header)
    return sealed


def file_vector(name: str, size: int, segment_size: int) -> dict:
    plaintext = bytes(index % 251 for index in range(size))
    salt, prefix = sha256(b"salt " + name.encode()).digest(), sha256(b"nonce " + name.encode()).digest()[:7]
    sealed = encrypt_file(plaintext, segment_size, salt, prefix)
    return {
        "name": name,
        "plaintext": plaintext.hex(),
        "segmentSize": segment_size,
        "salt": salt.hex(),
        "noncePrefix": prefix.hex(),
        "encrypted": sealed.hex(),
        "fileHash": sha3_256(sealed).hexdigest(),
    }


def content_of(plaintext: bytes) -> dict:
    """Returns the content of a plaintext of one segment."""
    salt = derive(CONTENT_SEED, "Service_Content_Segment_Salt_v1:0")
    return {
        "seed": CONTENT_SEED.hex(),
        "root": sha256(b"\x00" + salt + plaintext).hexdigest(),
        "sha256": sha256(plaintext).hexdigest(),
    }


def metadata_vector() -> dict:
    earlier_wrap = derive(DOCUMENT_KEY, "Service_Earlier_Document_Key_v1", DOCUMENT_ID.encode())
    earlier_key = b64encode(aes_key_wrap(earlier_wrap, EARLIER_DOCUMENT_KEY)).decode()
    file = file_vector("one chunk", 28, 128)
    metadata = {
        "name": "Vertrag über Nüsse.pdf",
        "mediaType": "application/pdf",
        "size": 28,
        "fileHash": file["fileHash"],
        "keywords": ["größe abc", "nüsse"],
        "content": content_of(bytes.fromhex(file["plaintext"])),
    }
    members = {**metadata, "earlierKey": earlier_key}
    text = json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode()
    padded = text + b" " * (-len(text) % 256)
    numbers = VERSION.to_bytes(4, "big") + CHANGE.to_bytes(4, "big")
    header = b"\x03" + UUID(DOCUMENT_ID).bytes + numbers + PREVIOUS + KEY_GENERATION.to_bytes(4, "big")
    nonce = sha256(b"metadata nonce").digest()[:12]
    gcm = AESGCM(derive(VERSION_KEY, "Service_Metadata_v3"))
    sealed = nonce + gcm.encrypt(nonce, padded, header)
    context = sha3_256(header + sealed).digest()
    wrapping_key = derive(MASTER_KEY, "Service_Document_Key_Wrap_v3", context)
    wrapped = aes_key_wrap(wrapping_key, DOCUMENT_KEY)
    return {
        "place": {
            "documentId": DOCUMENT_ID,
            "version": VERSION,
            "change": CHANGE,
            "previous": PREVIOUS.hex(),
            "keyGeneration": KEY_GENERATION,
        },
        "metadata": metadata,
        "earlierDocumentKey": EARLIER_DOCUMENT_KEY.hex(),
        "earlierKey": earlier_key,
        "nonce": nonce.hex(),
        "context": context.hex(),
        "wrappedDocumentKey": wrapped.hex(),
        "encryptedMetadata": b64encode(header + wrapped + sealed).decode(),
    }


def keyword_vector() -> dict:
    key = derive(MASTER_KEY, "Service_Keyword_v1")
    return {
        "keyword": "  Größe\t ＡＢＣ ",
        "normalized": "größe abc",
        "hash": hmac.new(key, "größe abc".encode(), sha256).hexdigest(),
    }


vectors = {
    "passwordKey": PASSWORD_KEY.hex(),
    "masterKey": MASTER_KEY.hex(),
    "documentKey": DOCUMENT_KEY.hex(),
    "versionKey": VERSION_KEY.hex(),
    "fileKey": FILE_KEY.hex(),
    "masterEnvelope": b64encode(aes_key_wrap(ENVELOPE_KEY, MASTER_KEY)).decode(),
    "files": [
        file_vector("empty", 0, 128),
        file_vector("one chunk", 28, 128),
        file_vector("one byte more than one chunk", 29, 128),
        file_vector("two full chunks", 28 + 112, 128),
        file_vector("three chunks", 28 + 112 + 50, 128),
    ],
    "metadata": metadata_vector(),
    "keyword": keyword_vector(),
}
Path(__file__).with_name("stream.json").write_text(json.dumps(vectors, indent=2, ensure_ascii=False) + "\n")
