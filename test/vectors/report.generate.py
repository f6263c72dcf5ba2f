"""Makes report.json from docs/formats.md alone, with the package `cryptography` and nothing of the
TypeScript client. Run: python3 report.generate.py"""

import json
from base64 import b64encode
from hashlib import sha256, sha3_256
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

MASTER_KEY = sha256(b"master key").digest()
SEED = sha256(b"signing seed of a report").digest()
WRITER = "6f1c9d0e-3b7a-4c52-9a8e-d4f0b1e2c3a5"
DOCUMENT = "01890a5d-ab72-7c08-9d4e-1e8f6b2a9c35"
NONCE = sha256(b"nonce of a report").digest()[:12]
NUMBER = 7
GENERATION = 2
REPORT = {
    "documents": {
        DOCUMENT: {"version": 3, "change": 1, "metadataHash": sha3_256(b"metadata").hexdigest()}
    },
    "people": {},
    "shares": {},
    "devices": {WRITER: "registered"},
    "vaultKeys": {},
    "previous": sha3_256(b"the report before").hexdigest(),
    "isStart": False,
    "read": {"0d9b1c7e-5a1f-4d8b-8c3e-2f6a7b8c9d0e": 12},
}

key = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"Service_Memory_Report_v1").derive(
    MASTER_KEY
)
prefix = b"\x01\x00" + GENERATION.to_bytes(4, "big")
place = prefix + WRITER.encode() + NUMBER.to_bytes(4, "big")
text = json.dumps(REPORT, separators=(",", ":")).encode()
text += b" " * (-len(text) % 256)
signer = Ed25519PrivateKey.from_private_bytes(SEED)
signature = signer.sign(b"Service_Memory_Report_Signature_v1\x00" + place + text)
record = prefix + NONCE + AESGCM(key).encrypt(NONCE, signature + text, place)

vector = {
    "masterKey": MASTER_KEY.hex(),
    "signingSeed": SEED.hex(),
    "signingKey": signer.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex(),
    "generation": GENERATION,
    "writer": WRITER,
    "number": NUMBER,
    "report": REPORT,
    "key": key.hex(),
    "nonce": NONCE.hex(),
    "record": b64encode(record).decode(),
    "hash": sha3_256(record).hexdigest(),
}
Path(__file__).with_name("report.json").write_text(json.dumps(vector, indent=2) + "\n", "utf-8")
