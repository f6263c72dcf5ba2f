"""Checks what this client believes of the reports of a user's devices."""

import unittest
from collections.abc import Iterator, Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature, InvalidTag

from identity import Identity, create_identity
from memory import EMPTY, Read, newest_states, read_reports
from report import LIST, hash_report, seal_report
from session import MasterKeys

KEYS = MasterKeys(bytes(32), 2)
LAPTOP, PHONE = "6f1c9d0e-3b7a-4c52-9a8e-d4f0b1e2c3a5", "0d9b1c7e-5a1f-4d8b-8c3e-2f6a7b8c9d0e"
DOCUMENT = "01890a5d-ab72-7c08-9d4e-1e8f6b2a9c35"
OWN = create_identity()
Item = dict[str, Any]


class Shown:
    """Stands for a vault that shows these records."""

    def __init__(self, items: list[Item]) -> None:
        self._items = items

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


if __name__ == "__main__":
    unittest.main()
