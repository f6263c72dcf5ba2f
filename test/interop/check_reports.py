"""Checks what this client believes of the reports of a user's devices, and of lists of rekeys."""

import unittest
from collections.abc import Iterator, Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature, InvalidTag

from identity import Identity, Names, create_identity, wrap_identity
from memory import EMPTY, Read, newest_states, read_list, read_reports, write_list
from objects import read_statements
from rekey import Keyring
from report import LIST, hash_report, seal_report
from session import MasterKeys
from sync_statement import create_object, hash_leaf, seal_statement

KEYS = MasterKeys(bytes(32), 2)
LAPTOP, PHONE = "6f1c9d0e-3b7a-4c52-9a8e-d4f0b1e2c3a5", "0d9b1c7e-5a1f-4d8b-8c3e-2f6a7b8c9d0e"
DOCUMENT = "01890a5d-ab72-7c08-9d4e-1e8f6b2a9c35"
OWN = create_identity()
Item = dict[str, Any]


class Shown:
    """Stands for a vault that shows these records."""

    def __init__(self, items: list[Item]) -> None:
        self._items = items

    def get(self, path: str) -> Any:
        return wrap_identity(KEYS.present, Names("https://vault.example", LAPTOP), OWN)

    def post(self, path: str, body: Item) -> None:
        self._items.append(body)

    def get_pages(
        self, path: str, limit: int = 100, filters: Mapping[str, str] = {}
    ) -> Iterator[Item]:
        yield from self._items


def tell(
    writer: str,
    number: int,
    before: Item | None = None,
    *,
    identity: Identity = OWN,
    generation: int = KEYS.generation,
    **members: Any,
) -> Item:
    kind = members.pop("kind", 0)
    previous = None if before is None else hash_report(before["record"])
    report = {**EMPTY, "previous": previous, "isStart": before is None, "read": {}, **members}
    record = seal_report(
        KEYS.present, generation, identity.signing_seed, writer, number, report, kind=kind
    )
    return {"writer": writer, "number": number, "record": record}


def version(number: int, **members: Any) -> dict[str, Any]:
    return {"version": number, "change": 0, "metadataHash": f"{number:064x}", **members}


def read(*items: Item) -> dict[str, Read]:
    return read_reports(Shown(list(items)), KEYS, OWN)  # type: ignore[arg-type]


class Reports(unittest.TestCase):
    first = tell(LAPTOP, 1)
    second = tell(LAPTOP, 2, first)
    third = tell(LAPTOP, 3, second)

    def test_reports_in_their_order_are_read(self) -> None:
        told = read(self.first, self.second, tell(PHONE, 5, read={LAPTOP: 2}), self.third)
        self.assertEqual({name: one.number for name, one in told.items()}, {LAPTOP: 3, PHONE: 5})

    def test_a_report_that_is_missing_or_out_of_order_is_noticed(self) -> None:
        for items in (
            [self.first, self.third],
            [self.second, self.third],
            [self.first, self.third, self.second],
            [self.first, self.second, self.second],
        ):
            with self.assertRaises(ValueError):
                read(*items)

    def test_the_end_of_the_reports_is_missed_once_somebody_has_read_it(self) -> None:
        reader = tell(PHONE, 1, read={LAPTOP: 3})
        self.assertEqual(len(read(self.first, self.second, self.third, reader)), 2)
        for items in ([self.first, self.second, reader], [reader]):
            with self.assertRaises(ValueError):
                read(*items)
        forgiving = tell(PHONE, 1, read={LAPTOP: 3}, devices={LAPTOP: "revoked"})
        self.assertEqual(set(read(forgiving)), {PHONE})
        accepting = tell(PHONE, 1, read={LAPTOP: 3}, lost={LAPTOP: 3})
        self.assertEqual(set(read(accepting)), {PHONE})
        with self.assertRaises(ValueError):
            read(tell(PHONE, 1, read={LAPTOP: 3}, lost={LAPTOP: 2}))

    def test_a_report_in_anothers_name_or_place_is_refused(self) -> None:
        with self.assertRaises(InvalidTag):
            read({**self.first, "writer": PHONE})
        with self.assertRaises(InvalidTag):
            read({**self.first, "number": 2})
        with self.assertRaises(InvalidSignature):
            read(tell(LAPTOP, 1, identity=create_identity()))

    def test_lists_and_earlier_generations_are_no_reports(self) -> None:
        others = [tell(LAPTOP, 1, generation=1), tell(LAPTOP, 1, kind=LIST)]
        self.assertEqual(read(*others), {})


class States(unittest.TestCase):
    def newest(self, *states: dict[str, Any], **members: Any) -> dict[str, Any]:
        first = tell(LAPTOP, 1, documents={DOCUMENT: states[0]})
        others = [
            tell(PHONE, number, documents={DOCUMENT: state}, **members)
            for number, state in enumerate(states[1:], start=1)
        ]
        return newest_states(read(first, *others))[DOCUMENT]

    def test_the_newer_version_counts(self) -> None:
        for states in ([version(2), version(3)], [version(3), version(2)]):
            self.assertEqual(self.newest(*states), version(3))
        removed = {"removed": True}
        self.assertEqual(self.newest(removed, version(9)), removed)

    def test_a_state_that_the_user_accepted_counts_in_place_of_those_up_to_the_other(self) -> None:
        accepted = version(2, accepted=1, insteadOf=version(4))
        for states in ([version(4), accepted], [accepted, version(4)], [accepted, version(3)]):
            self.assertEqual(self.newest(*states), accepted)
        for states in ([version(5), accepted], [accepted, version(5)]):
            self.assertEqual(self.newest(*states), version(5))

    def test_what_a_revoked_device_told_counts_for_nothing(self) -> None:
        newest = self.newest(version(9), version(2), devices={LAPTOP: "revoked"})
        self.assertEqual(newest, version(2))


class Lists(unittest.TestCase):
    listed = {
        "documents": {f"document {number}": version(number) for number in range(1, 80)},
        "objects": {f"object {number}": {"statements": {}} for number in range(1, 80)},
    }

    def write(self, listed: dict[str, Any]) -> tuple[list[Item], MasterKeys]:
        items: list[Item] = []
        vault: Any = Shown(items)
        end = write_list(vault, KEYS.present, KEYS.generation, OWN, listed)
        return items, KEYS._replace(keyring=Keyring([], [], {}, end))

    def test_a_list_of_several_records_is_read_as_it_was_written(self) -> None:
        for listed, count in ((self.listed, 4), ({"documents": {}, "objects": {}}, 1)):
            items, keys = self.write(listed)
            self.assertEqual(len(items), count)
            vault: Any = Shown(items)
            self.assertEqual(read_list(vault, keys), listed)

    def test_a_record_that_is_missing_is_noticed(self) -> None:
        items, keys = self.write(self.listed)
        for place in range(len(items)):
            vault: Any = Shown(items[:place] + items[place + 1 :])
            with self.assertRaises(ValueError):
                read_list(vault, keys)


class Objects(unittest.TestCase):
    earlier = bytes([1] * 32)
    keys = KEYS._replace(keyring=Keyring([earlier], [], {}))

    def shown(self, version: int, data: dict[str, Any]) -> dict[str, Any]:
        return {"objectId": DOCUMENT, "version": version, "data": data}

    def made_by(self, master_key: bytes) -> dict[str, Any]:
        return self.shown(1, create_object(master_key, DOCUMENT, LAPTOP, {"title": "Bern"}))

    def test_what_an_earlier_master_key_made_must_be_listed(self) -> None:
        shown = self.made_by(self.earlier)
        with self.assertRaises(ValueError):
            read_statements(self.keys, shown, {})
        states = read_statements(MasterKeys(self.earlier), shown, {})
        self.assertEqual(read_statements(self.keys, shown, states), states)
        with self.assertRaises(ValueError):
            read_statements(self.keys, shown, {**states, PHONE: [1, "another"]})

    def test_what_no_master_key_opens_is_refused(self) -> None:
        with self.assertRaises(ValueError):
            read_statements(self.keys, self.made_by(bytes([2] * 32)), {})

    def test_what_a_present_statement_saw_is_vouched_for(self) -> None:
        data = self.made_by(self.earlier)["data"]
        hash_ = hash_leaf(data["$devices"][LAPTOP]["1"])
        statement = {"count": 1, "base": 1, "saw": {LAPTOP: [1, hash_]}, "wrote": {}}
        for master_key, is_vouched in ((KEYS.present, True), (self.earlier, False)):
            of_phone = seal_statement(master_key, DOCUMENT, PHONE, statement)
            shown = self.shown(2, {**data, "$devices": {**data["$devices"], **of_phone}})
            if is_vouched:
                states = read_statements(self.keys, shown, {})
                self.assertEqual(states[LAPTOP], [1, hash_])
                self.assertEqual(set(states), {LAPTOP, PHONE})
                continue
            with self.assertRaises(ValueError):
                read_statements(self.keys, shown, {})


if __name__ == "__main__":
    unittest.main()
