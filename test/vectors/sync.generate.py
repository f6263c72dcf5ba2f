"""Makes sync.json from docs/formats.md alone, with the package `cryptography` and nothing of the
TypeScript client. Run: python3 sync.generate.py"""

import json
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

MASTER_KEY = sha256(b"master key").digest()
OBJECT_ID = "01890a5d-ab72-7c08-9d4e-1e8f6b2a9c35"


def padded(text: bytes) -> bytes:
    length = 32
    while length < len(text) and length < 1024:
        length *= 2
    while length < len(text):
        length += 1024
    return text + b" " * (length - len(text))


def leaf(name: str, pointer: str, value: Any) -> dict:
    info = b"Service_Sync_Leaf_v1"
    key = HKDF(algorithm=SHA256(), length=32, salt=OBJECT_ID.encode(), info=info).derive(MASTER_KEY)
    nonce = sha256(b"leaf nonce " + name.encode()).digest()[:12]
    place = b"\x01" + OBJECT_ID.encode() + pointer.encode()
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    sealed = b"\x01" + nonce + AESGCM(key).encrypt(nonce, padded(text), place)
    return {
        "name": name,
        "masterKey": MASTER_KEY.hex(),
        "objectId": OBJECT_ID,
        "leafKey": key.hex(),
        "pointer": pointer,
        "value": value,
        "nonce": nonce.hex(),
        "sealed": b64encode(sealed).decode(),
    }


LEAVES = [
    leaf("a text", "/place/über~1Nüsse", "Zürich, 3. März"),
    leaf("null", "/none", None),
    leaf("a number", "/amount", -12.5),
    leaf("an array with an object in it", "/lines", [1, {"a": [True, None]}]),
    leaf("the type of the object", "/$type", "note"),
    leaf("a text that fills its padding", "/a", "x" * 30),
    leaf("one byte more", "/a", "x" * 31),
    leaf("1024 bytes", "/a", "x" * 1022),
    leaf("a byte over 1024", "/a", "x" * 1023),
]

path = Path(__file__).parent / "sync.json"
path.write_text(json.dumps(LEAVES, indent=2, ensure_ascii=False) + "\n", "utf-8")
