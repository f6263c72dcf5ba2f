"""Makes statements.json from docs/formats.md alone, with the package `cryptography` and nothing of
the TypeScript client: states of one object, and whether a reader believes each.
Run: python3 statements.generate.py"""

import json
from base64 import b64encode
from copy import deepcopy
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

MASTER_KEY = sha256(b"master key").digest()
OBJECT_ID = "01890a5d-ab72-7c08-9d4e-1e8f6b2a9c35"
ALICE = "a11ce000-0000-4000-8000-000000000001"
BOB = "b0b00000-0000-4000-8000-000000000002"


def leaf(pointer: str, value: Any) -> str:
    info = b"Service_Sync_Leaf_v1"
    key = HKDF(algorithm=SHA256(), length=32, salt=OBJECT_ID.encode(), info=info).derive(MASTER_KEY)
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    length = 32
    while length < len(text) and length < 1024:
        length *= 2
    length = max(length, len(text) + -len(text) % 1024) if len(text) > 1024 else length
    nonce = sha256(b"statement nonce " + pointer.encode() + text).digest()[:12]
    place = b"\x01" + OBJECT_ID.encode() + pointer.encode()
    sealed = AESGCM(key).encrypt(nonce, text.ljust(length, b" "), place)
    return b64encode(b"\x01" + nonce + sealed).decode()


def hash_of(sealed: str) -> str:
    return b64encode(sha256(sealed.encode()).digest()[:16]).decode()


def state(version: int, data: dict, statements: dict[str, dict]) -> dict:
    sealed = {
        device: {str(said["count"]): leaf(f"/$devices/{device}/{said['count']}", said)}
        for device, said in statements.items()
    }
    return {"version": version, "data": {**data, "$devices": sealed}}


def id_of(shown: dict, device: str) -> list:
    ((count, sealed),) = shown["data"]["$devices"][device].items()
    return [int(count), hash_of(sealed)]


TYPE = leaf("/$type", "note")
TITLE, TITLE_2 = leaf("/title", "Lease"), leaf("/title", "Lease of 2027")
TENANT, BODY = leaf("/parties/tenant", "Bob"), leaf("/body", "text")

alice_1 = {
    "count": 1,
    "base": 0,
    "saw": {},
    "wrote": {
        "/$type": [1, hash_of(TYPE)],
        "/title": [1, hash_of(TITLE)],
        "/body": [1, hash_of(BODY)],
        "/parties/tenant": [1, hash_of(TENANT)],
    },
}
FIRST = state(
    1,
    {"$type": TYPE, "title": TITLE, "body": BODY, "parties": {"tenant": TENANT}},
    {ALICE: alice_1},
)
bob_1 = {
    "count": 1,
    "base": 1,
    "saw": {ALICE: id_of(FIRST, ALICE)},
    "wrote": {"/title": [1, hash_of(TITLE_2)], "/body": [1, None]},
}
SECOND = state(
    2,
    {"$type": TYPE, "title": TITLE_2, "parties": {"tenant": TENANT}},
    {ALICE: alice_1, BOB: bob_1},
)
# Alice removed all parties and set the title, on version 1, though she knew version 2.
TITLE_3 = leaf("/title", "Lease of 2028")
alice_2 = {
    "count": 2,
    "base": 2,
    "saw": {BOB: id_of(SECOND, BOB)},
    "wrote": {
        "/$type": [1, hash_of(TYPE)],
        "/parties/tenant": [1, hash_of(TENANT)],
        "/parties": [2, None, None],
        "/title": [2, hash_of(TITLE_3), hash_of(TITLE_2)],
    },
}
THIRD = state(3, {"$type": TYPE, "title": TITLE_3}, {ALICE: alice_2, BOB: bob_1})


def changed(shown: dict, change: Any) -> dict:
    copy = deepcopy(shown)
    change(copy)
    return copy


STATES = [
    ("created", FIRST, True),
    ("a leaf set and another removed", SECOND, True),
    ("contested, decided for the write", THIRD, True),
    ("contested, decided against the removal", changed(THIRD, lambda s: s["data"].update(parties={"tenant": TENANT})), True),
    ("contested, decided for the title of before", changed(THIRD, lambda s: s["data"].update(title=TITLE_2)), True),
    ("an older title than the contested one", changed(THIRD, lambda s: s["data"].update(title=TITLE)), False),
    ("a public field beside the others", changed(SECOND, lambda s: s["data"].update(tags=["a"])), True),
    ("an older leaf", changed(SECOND, lambda s: s["data"].update(title=TITLE)), False),
    ("a removed leaf shown again", changed(SECOND, lambda s: s["data"].update(body=BODY)), False),
    ("a leaf left out", changed(SECOND, lambda s: s["data"].pop("title")), False),
    ("a leaf made up", changed(SECOND, lambda s: s["data"].update(made=TITLE)), False),
    ("a leaf that is not encrypted", changed(SECOND, lambda s: s["data"].update(made="up")), False),
    ("an inner leaf left out", changed(SECOND, lambda s: s["data"].update(parties={})), False),
    ("a statement left out that another device saw", changed(SECOND, lambda s: s["data"]["$devices"].pop(ALICE)), False),
    ("a version that a device had passed", changed(SECOND, lambda s: s.update(version=1)), False),
    ("no statement", changed(SECOND, lambda s: s["data"].update({"$devices": {}})), False),
]

path = Path(__file__).parent / "statements.json"
vector = {
    "masterKey": MASTER_KEY.hex(),
    "objectId": OBJECT_ID,
    "publicFields": ["/tags"],
    "statement": alice_2,
    "hash": hash_of(TITLE_3),
    "states": [
        {"name": name, **shown, "believed": believed} for name, shown, believed in STATES
    ],
}
path.write_text(json.dumps(vector, indent=2, ensure_ascii=False) + "\n", "utf-8")
