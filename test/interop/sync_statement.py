"""Makes and verifies the statements of devices in synchronised objects."""

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import strict_base64
from sync_leaf import open_leaf, seal_leaf

HASH_BYTES = 16
MEMBER = "$devices"


# By device, a statement and its hash.
Statements = dict[str, tuple[dict, str]]


class Claim(NamedTuple):
    device: str
    pointer: str
    count: int
    hash: str | None
    known: str | None
    is_contested: bool


def hash_leaf(sealed: str) -> str:
    return strict_base64.encode(hashlib.sha256(sealed.encode()).digest()[:HASH_BYTES])


def pointer_to(device: str, count: int) -> str:
    return f"/{MEMBER}/{device}/{count}"


def seal_statement(master_key: bytes, object_id: str, device: str, statement: dict) -> dict:
    """Encrypts a statement; returns the member of the object or of the merge patch."""
    count = statement["count"]
    sealed = seal_leaf(master_key, object_id, pointer_to(device, count), statement)
    return {device: {str(count): sealed}}


def open_statements(master_key: bytes, object_id: str, data: dict) -> Statements:
    """Decrypts the newest statement of each device; returns it with its hash."""
    return {
        device: (open_statement(master_key, object_id, device, count, sealed), hash_leaf(sealed))
        for device, count, sealed in newest_leaves(data)
    }


def newest_leaves(data: dict) -> Iterator[tuple[str, int, str]]:
    """Yields the newest statement of each device, encrypted, with its count."""
    for device, leaves in data.get(MEMBER, {}).items():
        if leaves:
            count = max(int(count) for count in leaves)
            yield device, count, leaves[str(count)]


def open_statement(
    master_key: bytes, object_id: str, device: str, count: int, sealed: str
) -> dict[str, Any]:
    """Decrypts a statement. Raises InvalidTag for another master key or place."""
    statement = open_leaf(master_key, object_id, pointer_to(device, count), sealed)
    if statement["count"] != count:
        raise ValueError("a statement with another count")
    return statement


def leaves_of(value: dict, is_public: Callable[[str], bool], at: str = "") -> Iterator[tuple]:
    for key, member in value.items():
        pointer = f"{at}/{key.replace('~', '~0').replace('/', '~1')}"
        if pointer == f"/{MEMBER}" or member == {} or is_public(pointer):
            continue
        if isinstance(member, dict):
            yield from leaves_of(member, is_public, pointer)
        else:
            yield pointer, hash_leaf(member) if isinstance(member, str) else "not encrypted"


def is_below(pointer: str, outer: str) -> bool:
    return pointer.startswith(f"{outer}/")


class Claims:
    """The claims of the statements in an object, and which of them stand."""

    def __init__(self, statements: Statements) -> None:
        self.saw = {device: statement["saw"] for device, (statement, _) in statements.items()}
        self.all = [
            Claim(device, pointer, claim[0], claim[1], claim[-1], len(claim) == 3)
            for device, (statement, _) in statements.items()
            for pointer, claim in statement["wrote"].items()
        ]
        self.standing = [
            one for one in self.all if not any(self.is_overruled(one, other) for other in self.all)
        ]

    def concerns(self, claim: Claim, pointer: str) -> bool:
        is_inside = pointer == claim.pointer or is_below(pointer, claim.pointer)
        return is_inside or (claim.hash is not None and is_below(claim.pointer, pointer))

    def is_overruled(self, claim: Claim, by: Claim) -> bool:
        if by.is_contested or not self.concerns(by, claim.pointer):
            return False
        if by.device == claim.device:
            return by.count > claim.count
        seen, _ = self.saw[by.device].get(claim.device, (0, ""))
        return seen >= claim.count

    def may_be_absent(self, claim: Claim) -> bool:
        return (
            claim.hash is None
            or claim.is_contested
            or any(
                self.concerns(other, claim.pointer)
                and (other.pointer != claim.pointer or other.hash is None)
                and not self.is_overruled(other, claim)
                for other in self.all
            )
        )


def find_omission(version: int, statements: Statements) -> str | None:
    """Returns which statement a version of an object lacks; None if it shows all."""
    if not statements:
        return "no statement"
    for statement, _ in statements.values():
        if version <= statement["base"]:
            return "an older version"
        for device, (count, seen) in statement["saw"].items():
            present, hash_ = statements.get(device, ({"count": 0}, ""))
            if present["count"] < count or (present["count"] == count and hash_ != seen):
                return f"an older statement of {device}"
    return None


def find_fault(
    master_key: bytes, object_id: str, shown: dict, is_public: Callable[[str], bool]
) -> str | None:
    """Returns why a state of an object is not believed; None if it is."""
    statements = open_statements(master_key, object_id, shown["data"])
    omission = find_omission(shown["version"], statements)
    if omission is not None:
        return omission

    claims = Claims(statements)
    leaves = dict(leaves_of(shown["data"], is_public))
    for pointer, hash_ in leaves.items():
        if not any(c.pointer == pointer and hash_ in (c.hash, c.known) for c in claims.standing):
            return f"another leaf at {pointer}"
    for claim in claims.standing:
        if claim.pointer not in leaves and not claims.may_be_absent(claim):
            return f"no leaf at {claim.pointer}"
    return None


def create_object(master_key: bytes, object_id: str, device: str, fields: dict[str, Any]) -> dict:
    """Encrypts a new flat object without a type, with the statement of the device."""
    plain = {"$type": None, **fields}
    data = {
        name: seal_leaf(master_key, object_id, f"/{name}", value) for name, value in plain.items()
    }
    wrote = {f"/{name}": [1, hash_leaf(sealed)] for name, sealed in data.items()}
    statement = {"count": 1, "base": 0, "saw": {}, "wrote": wrote}
    return {**data, MEMBER: seal_statement(master_key, object_id, device, statement)}


def change_field(
    master_key: bytes, object_id: str, device: str, shown: dict, change: tuple[str, Any]
) -> dict:
    """Returns the merge patch that sets a field of the newest version of a flat object."""
    name, value = change
    sealed = seal_leaf(master_key, object_id, f"/{name}", value)
    statements = open_statements(master_key, object_id, shown["data"])
    after = dict(leaves_of({**shown["data"], name: sealed}, lambda _: False))
    count = statements[device][0]["count"] + 1 if device in statements else 1
    own: dict[str, list] = {f"/{name}": [count, hash_leaf(sealed)]}
    for claim in Claims(statements).standing:
        if claim.device == device and after.get(claim.pointer) in (claim.hash, claim.known):
            own.setdefault(claim.pointer, [count, after.get(claim.pointer)])
    saw = {d: [s["count"], h] for d, (s, h) in statements.items() if d != device}
    statement = {"count": count, "base": shown["version"], "saw": saw, "wrote": own}
    for claim in Claims({**statements, device: (statement, "")}).standing:
        if claim.device != device and after.get(claim.pointer) != claim.hash:
            own.setdefault(claim.pointer, [count, after.get(claim.pointer)])
    member = seal_statement(master_key, object_id, device, statement)
    earlier = dict.fromkeys(shown["data"][MEMBER].get(device, {}))
    return {name: sealed, MEMBER: {device: {**earlier, **member[device]}}}


def main() -> None:
    """Reads a request as JSON: makes or changes an object, or judges states of one."""
    asked = json.load(sys.stdin)
    master_key, object_id = bytes.fromhex(asked["masterKey"]), asked["objectId"]
    if "fields" in asked:
        made = create_object(master_key, object_id, asked["device"], asked["fields"])
        print(json.dumps(made))
        return
    if "change" in asked:
        shown, device = asked["shown"], asked["device"]
        print(json.dumps(change_field(master_key, object_id, device, shown, asked["change"])))
        return

    def is_public(pointer: str) -> bool:
        return any(pointer == field or is_below(pointer, field) for field in asked["publicFields"])

    print(json.dumps([find_fault(master_key, object_id, s, is_public) for s in asked["states"]]))


if __name__ == "__main__":
    main()
