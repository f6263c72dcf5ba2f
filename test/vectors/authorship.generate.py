"""Makes authorship.json from docs/formats.md alone, with the package `cryptography` and nothing of
the TypeScript client. The document is the one whose audit proof is printed there, and the identity
is the one of sharing.json. Run: python3 authorship.generate.py"""

import json
import re
from base64 import b64encode
from hashlib import sha256, sha3_256
from pathlib import Path
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

DIRECTORY = Path(__file__).parent
FORMATS = DIRECTORY.parents[1] / "docs" / "formats.md"
STATED_AT = "2023-06-30T03:34:18.102Z"
SHARE_ID = "0d9b1c7e-5a1f-4d8b-8c3e-2f6a7b8c9d0e"
# The members of an entry that a verifier of the author reads.
READ = ("issuer", "timestamp", "actor", "action", "resource", "data")

printed = re.search(r"```json\n(.*?)```", FORMATS.read_text("utf-8"), re.DOTALL)
assert printed is not None
ENTRY = json.loads(json.loads(printed.group(1))["entryCanonical"])
ISSUER, OWNER = ENTRY["issuer"], ENTRY["resource"]["owner"]
SEALED = {name: ENTRY["data"][name] for name in ("version", "fileHash", "metadataHash")}
COMMITMENT = ENTRY["data"]["contentCommitment"]


class Identity(NamedTuple):
    private_key: bytes
    signing_seed: bytes

    @property
    def public_key(self) -> bytes:
        key = X25519PrivateKey.from_private_bytes(self.private_key)
        return key.public_key().public_bytes_raw()

    @property
    def signing_key(self) -> bytes:
        return self._signer().public_key().public_bytes_raw()

    @property
    def fingerprint(self) -> str:
        label = b"Service_Identity_Fingerprint_v1\x00"
        return sha3_256(label + self.public_key + self.signing_key).hexdigest()[:32]

    def sign(self, label: str, text: str) -> str:
        return encode(self._signer().sign(label.encode() + b"\x00" + text.encode()))

    def _signer(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self.signing_seed)


def encode(data: bytes) -> str:
    return b64encode(data).decode()


def canonical(value: dict) -> str:
    """RFC 8785 for objects whose names are ASCII and whose numbers are small integers."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def created(name: str) -> Identity:
    return Identity(*(sha256(f"{kind} of {name}".encode()).digest() for kind in ("key", "seed")))


FIRST = Identity(
    sha256(b"private key of the recipient").digest(), sha256(b"private signing key").digest()
)
SECOND, THIRD, STRANGER = (created(name) for name in ("the second", "the third", "a stranger"))


def publication(identity: Identity, previous: Identity | None) -> dict:
    """An identity as it is published, and the data of its entry."""
    keys = {"publicKey": encode(identity.public_key), "signingKey": encode(identity.signing_key)}
    before = None if previous is None else previous.fingerprint
    text = canonical({"v": 1, "issuer": ISSUER, "owner": OWNER, **keys, "previous": before})
    endorsement = None if previous is None else previous.sign("Service_Identity_Change_v1", text)
    return {
        "privateKey": identity.private_key.hex(),
        "signingSeed": identity.signing_seed.hex(),
        **keys,
        "fingerprint": identity.fingerprint,
        "previousFingerprint": before,
        "text": text,
        "proofOfPossession": identity.sign("Service_Identity_Possession_v1", text),
        "endorsement": endorsement,
    }


def stated(author: Identity, members: dict) -> dict:
    """A statement as a client sends it."""
    statement = {
        "v": 1,
        "issuer": ISSUER,
        "owner": OWNER,
        "documentId": ENTRY["resource"]["id"],
        **SEALED,
        "contentCommitment": COMMITMENT,
        "publicKey": encode(author.signing_key),
        "statedAt": STATED_AT,
        **members,
    }
    text = canonical(statement)
    return {"statement": text, "signature": author.sign("Service_Author_Statement_v1", text)}


def entry(author: Identity, members: dict, data: dict, **changes: object) -> dict:
    """The entry of an act, with its author's statement; `changes` are members that differ."""
    sent = stated(author, members)
    shown = {
        "statement": json.loads(sent["statement"]),
        "signature": sent["signature"],
        "sharingKey": encode(author.public_key),
    }
    action = {"action": members["action"]}
    return {**ENTRY, **action, "data": {**data, "author": shown}, **changes}


def change(identity: Identity, previous: Identity | None, **changes: object) -> dict:
    """The entry of an identity that became the one of the account."""
    published = publication(identity, previous)
    names = ("fingerprint", "publicKey", "signingKey", "previousFingerprint", "endorsement")
    data = {name: published[name] for name in names}
    resource = {"type": "sharing_key", "id": OWNER, "owner": OWNER}
    shown = {**data, **changes}
    return {**ENTRY, "action": "sharing_key.changed", "resource": resource, "data": shown}


SEAL = {"action": "document.sealed"}
SHARE = {
    "action": "document.shared",
    "recipientFingerprint": SECOND.fingerprint,
    "sharedVersion": None,
}
SHARE_OF_VERSION = {**SHARE, "sharedVersion": SEALED["version"]}
UNSHARE = {"action": "document.unshared", "shareId": SHARE_ID}
DELETION = {"action": "document.deleted"}
ACTS = {
    "seal": (SEAL, ENTRY["data"]),
    "share": (SHARE, {"recipientFingerprint": SECOND.fingerprint, "version": None}),
    "share of a version": (
        SHARE_OF_VERSION,
        {"recipientFingerprint": SECOND.fingerprint, "version": SEALED["version"]},
    ),
    "end of a share": (UNSHARE, {"shareId": SHARE_ID}),
    "deletion": (DELETION, {"fileHash": SEALED["fileHash"]}),
}
CHANGES = {
    "first": change(FIRST, None),
    "second": change(SECOND, FIRST),
    "third": change(THIRD, SECOND),
    "third without endorsement": change(THIRD, SECOND, endorsement=None),
    "third endorsed by itself": change(
        THIRD, SECOND, endorsement=publication(THIRD, THIRD)["endorsement"]
    ),
    "third endorsed by the first": change(
        THIRD, SECOND, endorsement=publication(THIRD, FIRST)["endorsement"]
    ),
    "second elsewhere": {**change(SECOND, FIRST), "issuer": "https://other.example"},
}


def with_author(given: dict, **changes: object) -> dict:
    return {**given, "data": {**given["data"], "author": {**given["data"]["author"], **changes}}}


def with_statement(given: dict, **changes: object) -> dict:
    return with_author(given, statement={**given["data"]["author"]["statement"], **changes})


def with_data(given: dict, **changes: object) -> dict:
    return {**given, "data": {**given["data"], **changes}}


def stating(**members: object) -> dict:
    """The entry of the seal, with a statement that is signed but says something else."""
    return {**entry(FIRST, {**SEAL, **members}, ENTRY["data"]), **SEAL}


ENTRIES = {name: entry(FIRST, *act) for name, act in ACTS.items()}
SEALED_BY_FIRST, SEALED_BY_THIRD = ENTRIES["seal"], entry(THIRD, *ACTS["seal"])
SHARED, UNSHARED, DELETED = (ENTRIES[name] for name in ("share", "end of a share", "deletion"))
SHARING_KEY = encode(FIRST.public_key)
WITHOUT_COMMITMENT = {
    name: value for name, value in ENTRY["data"].items() if name != "contentCommitment"
}
OTHER_ID, ZEROS = "01890a5d-0000-7d3e-8f21-5c6a3f0b7e11", "0" * 64

# Entries by the verdict on their author, without an expected fingerprint.
UNEXPECTED = {
    "vault_word": {"no statement": ENTRY},
    "unknown_key": {
        **ENTRIES,
        "no content commitment": entry(
            FIRST, {**SEAL, "contentCommitment": None}, WITHOUT_COMMITMENT
        ),
        "ten minutes before": stating(statedAt="2023-06-30T03:24:18.518Z"),
        "ten minutes after": stating(statedAt="2023-06-30T03:44:18.518Z"),
        "exchanged sharing key": with_author(
            SEALED_BY_FIRST, sharingKey=encode(STRANGER.public_key)
        ),
    },
    "statement_malformed": {
        "another member": stating(note="I agree"),
        "a member less": with_author(SEALED_BY_FIRST, statement={"v": 1}),
        "version 2 of statements": stating(v=2),
        "a text as version": stating(version="2"),
        "version 0": stating(version=0),
        "true as version": stating(version=True),
        "time without milliseconds": stating(statedAt="2023-06-30T03:34:18Z"),
        "a day that no month has": stating(statedAt="2023-02-30T03:34:18.102Z"),
        "upper-case document": stating(documentId=ENTRY["resource"]["id"].upper()),
        "upper-case hash": stating(fileHash="A" * 64),
        "members of another action": entry(
            FIRST, {**DELETION, "shareId": SHARE_ID}, ACTS["deletion"][1]
        ),
        "short signature": with_author(SEALED_BY_FIRST, signature="AAAA"),
        "short sharing key": with_author(SEALED_BY_FIRST, sharingKey=encode(bytes(31))),
        "short signing key": stating(publicKey=encode(bytes(31))),
        "sharing key in another spelling": with_author(
            SEALED_BY_FIRST, sharingKey=SHARING_KEY[:-2] + "B="
        ),
        "member beside the statement": with_author(SEALED_BY_FIRST, note="I agree"),
        "text in place of the author": with_data(SEALED_BY_FIRST, author="Alice"),
    },
    "statement_elsewhere": {
        "another vault": stating(issuer="https://other.example"),
        "another owner": stating(owner=OTHER_ID),
        "another actor": {**SEALED_BY_FIRST, "actor": {"type": "user", "id": OTHER_ID}},
        "the vault as actor": {**SEALED_BY_FIRST, "actor": {"type": "system", "id": OWNER}},
        "another document": stating(documentId=OTHER_ID),
    },
    "statement_mismatch": {
        "another action": stating(action="document.deleted"),
        "another version": stating(version=3),
        "another file": stating(fileHash=ZEROS),
        "other metadata": stating(metadataHash=ZEROS),
        "another content": stating(contentCommitment=ZEROS),
        "no content where there is one": stating(contentCommitment=None),
        "deletion of another file": with_data(DELETED, fileHash=ZEROS),
        "end of another share": with_data(UNSHARED, shareId=OTHER_ID),
        "share with somebody else": with_data(SHARED, recipientFingerprint=FIRST.fingerprint),
        "share of one version": with_data(SHARED, version=2),
    },
    "statement_misdated": {
        "a millisecond too early": stating(statedAt="2023-06-30T03:24:18.517Z"),
        "a millisecond too late": stating(statedAt="2023-06-30T03:44:18.519Z"),
    },
    "statement_forged": {
        "signed by nobody": with_author(SEALED_BY_FIRST, signature=encode(bytes(64))),
        "dated anew": with_statement(SEALED_BY_FIRST, statedAt="2023-06-30T03:34:18.103Z"),
        "exchanged signing key": with_statement(
            SEALED_BY_FIRST, publicKey=encode(STRANGER.signing_key)
        ),
    },
}
# Names of entries by the verdict on whether the third identity follows the first.
FOLLOWED = {
    "known_key": [("first", "second", "third"), ("third", "second", "first")],
    "other_author": [
        (),
        ("second", "third"),
        ("first", "third"),
        ("first", "second"),
        ("first", "second", "third without endorsement"),
        ("first", "second", "third endorsed by itself"),
        ("first", "second", "third endorsed by the first"),
        ("first", "second elsewhere", "third"),
    ],
}


def case(name: str, entry: dict, verdict: str, expected: str | None, changes: list[str]) -> dict:
    """An entry and what is to be said of its author: a standing, or the defect of its statement."""
    return {
        "name": name,
        "entry": canonical({name: entry[name] for name in READ}),
        "expectedFingerprint": expected,
        "identityChanges": changes,
        "verdict": verdict,
    }


def cases() -> list[dict]:
    return [
        *(
            case(name, entry, verdict, None, [])
            for verdict, entries in UNEXPECTED.items()
            for name, entry in entries.items()
        ),
        case("expected author", SEALED_BY_FIRST, "known_key", FIRST.fingerprint, []),
        case("another author", SEALED_BY_FIRST, "other_author", STRANGER.fingerprint, []),
        case(
            "expected author with another sharing key",
            UNEXPECTED["unknown_key"]["exchanged sharing key"],
            "other_author",
            FIRST.fingerprint,
            [],
        ),
        case(
            "identity before the expected one",
            SEALED_BY_FIRST,
            "other_author",
            THIRD.fingerprint,
            ["first", "second", "third"],
        ),
        *(
            case(
                f"third after {', '.join(names) or 'nothing'}",
                SEALED_BY_THIRD,
                verdict,
                FIRST.fingerprint,
                list(names),
            )
            for verdict, all_names in FOLLOWED.items()
            for names in all_names
        ),
    ]


vectors = {
    "issuer": ISSUER,
    "owner": OWNER,
    "identities": [publication(FIRST, None), publication(SECOND, FIRST)],
    "statements": [{"name": name, **stated(FIRST, act)} for name, (act, _) in ACTS.items()],
    "changes": {
        name: canonical({name: entry[name] for name in READ}) for name, entry in CHANGES.items()
    },
    "cases": cases(),
}
text = json.dumps(vectors, indent=2, ensure_ascii=False) + "\n"
(DIRECTORY / "authorship.json").write_text(text, "utf-8")
