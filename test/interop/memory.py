"""Reads and writes what the user's clients tell each other of the vault's state."""

import uuid
from typing import Any, NamedTuple

from identity import Identity, load_identity
from report import LIST, REPORT, hash_report, open_report, read_prefix, seal_report
from rekey import ListEnd
from session import MasterKeys
from vault_http import VaultHttp

RECORDS = "/v1/memory/records"
EMPTY: dict[str, Any] = {
    "documents": {},
    "objects": {},
    "people": {},
    "shares": {},
    "given": {},
    "devices": {},
    "vaultKeys": {},
    "lost": {},
    "account": {},
}

# Objects that a dozen devices wrote leave enough room in a record of 128 KiB.
RECORD_STATES = 50

# Where a document stands in its history, as reports have it.
State = dict[str, Any]

# States of documents and of synchronised objects, under the names that reports have for both.
Listed = dict[str, dict[str, State]]


class Read(NamedTuple):
    """What a writer told: its reports in their order, and the place of the last one."""

    reports: list[dict[str, Any]]
    number: int
    hash: str


def read_reports(http: VaultHttp, keys: MasterKeys, identity: Identity) -> dict[str, Read]:
    """Returns what the devices of the user told, by their ids. Raises ValueError, InvalidTag or
    InvalidSignature if the vault changed, exchanged or left out a report."""
    return read_records(http, keys, identity, REPORT)


def read_records(
    http: VaultHttp, keys: MasterKeys, identity: Identity, kind: int
) -> dict[str, Read]:
    told: dict[str, Read] = {}
    for item in http.get_pages(RECORDS):
        writer, number, record = item["writer"], item["number"], item["record"]
        if read_prefix(record) != (kind, keys.generation):
            continue
        signing_key = identity.public.signing_key
        _, _, report = open_report(keys.present, signing_key, writer, number, record)
        before = told.get(writer, Read([], 0, ""))
        follows = report["previous"] == before.hash and number > before.number
        if not report["isStart"] and not follows:
            raise ValueError(f"a report of {writer} is missing")
        reports = [report] if report["isStart"] else [*before.reports, report]
        told[writer] = Read(reports, number, hash_report(record))
    check_complete(told)
    return told


def check_complete(told: dict[str, Read]) -> None:
    """Raises ValueError if somebody has read a report that the vault does not show."""
    revoked, lost = find_revoked(told), find_lost(told)
    for read in told.values():
        for writer, number in read.reports[-1]["read"].items():
            last = told[writer].number if writer in told else 0
            if max(last, lost.get(writer, 0)) < number and writer not in revoked:
                raise ValueError(f"the last report of {writer} is missing")


def find_revoked(told: dict[str, Read]) -> set[str]:
    return {
        device
        for read in told.values()
        for report in read.reports
        for device, fate in report.get("devices", {}).items()
        if fate == "revoked"
    }


def find_lost(told: dict[str, Read]) -> dict[str, int]:
    """Returns the number of the last record of each writer that a restored vault lost, as the user
    accepted."""
    lost: dict[str, int] = {}
    for read in told.values():
        for report in read.reports:
            for writer, number in report.get("lost", {}).items():
                lost[writer] = max(number, lost.get(writer, 0))
    return lost


def newest_states(told: dict[str, Read]) -> dict[str, State]:
    """Returns the state of each document that counts, of those that devices told which are not
    revoked."""
    newest: dict[str, State] = {}
    revoked = find_revoked(told)
    for writer, read in told.items():
        for report in read.reports if writer not in revoked else []:
            for document_id, state in report.get("documents", {}).items():
                if document_id not in newest or counts(state, newest[document_id]):
                    newest[document_id] = state
    return newest


def counts(state: State, known: State) -> bool:
    """Returns whether a state counts in place of a known one."""
    if accepted(state) > accepted(known):
        return is_accepted_for(state, known) or place_of(state) > place_of(known)
    if accepted(state) < accepted(known):
        return not is_accepted_for(known, state) and place_of(state) > place_of(known)
    return place_of(state) > place_of(known)


def accepted(state: State) -> int:
    return int(state.get("accepted", 0))


def is_accepted_for(state: State, other: State) -> bool:
    """Returns whether the user accepted a state in place of another one, or of a later one."""
    return "insteadOf" in state and place_of(state["insteadOf"]) >= place_of(other)


def place_of(state: State) -> tuple[bool, int, int]:
    return "removed" in state, state.get("version", 0), state.get("change", 0)


def write_report(
    http: VaultHttp,
    keys: MasterKeys,
    identity: Identity,
    device_id: str,
    changes: dict[str, Any],
) -> int:
    """Tells the user's other devices something, in the name of the device of this session. Returns
    the number of the report."""
    told = read_reports(http, keys, identity)
    own = told.pop(device_id, None)
    report = {
        **EMPTY,
        **changes,
        "previous": None if own is None else own.hash,
        "isStart": own is None,
        "read": {writer: read.number for writer, read in told.items()},
    }
    number = 1 if own is None else own.number + 1
    record = seal_report(
        keys.present, keys.generation, identity.signing_seed, device_id, number, report
    )
    body = {"writer": device_id, "number": number, "record": record}
    http.post(RECORDS, body, {"X-Device-Id": device_id})
    return number


def write_list(
    http: VaultHttp, master_key: bytes, generation: int, identity: Identity, listed: Listed
) -> ListEnd:
    """Writes the list of what is there, before a rekey takes effect. Each record is small enough for
    the vault."""
    writer, number, before = str(uuid.uuid4()), 0, None
    states = [(kind, name, state) for kind in listed for name, state in listed[kind].items()]
    for start in range(0, max(len(states), 1), RECORD_STATES):
        report = {**EMPTY, "previous": before, "isStart": before is None, "read": {}}
        report |= {"documents": {}, "objects": {}}
        for kind, name, state in states[start : start + RECORD_STATES]:
            report[kind][name] = state
        number += 1
        record = seal_report(
            master_key, generation, identity.signing_seed, writer, number, report, kind=LIST
        )
        http.post(RECORDS, {"writer": writer, "number": number, "record": record})
        before = hash_report(record)
    return ListEnd(writer, number, before)


def read_list(http: VaultHttp, keys: MasterKeys) -> Listed:
    """Returns the list of the last rekey. Raises ValueError unless its last record is the one that
    the keyring names."""
    listed: Listed = {"documents": {}, "objects": {}}
    end = keys.keyring.list_end
    if end is None:
        return listed
    identity = load_identity(http, keys.present)
    read = read_records(http, keys, identity, LIST).get(end.writer)
    if read is None or (read.number, read.hash) != (end.number, end.hash):
        raise ValueError("the vault does not show the list of the rekey")
    for report in read.reports:
        for kind, states in listed.items():
            states.update(report.get(kind, {}))
    return listed
