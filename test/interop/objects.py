"""Lists the synchronised objects of a user by the statements of devices in them."""

from collections.abc import Iterator
from typing import Any

from cryptography.exceptions import InvalidTag

from session import MasterKeys
from sync_statement import Statements, find_omission, hash_leaf, newest_leaves, open_statement
from vault_http import VaultError, VaultHttp

OBJECTS = "/v1/sync"

# By device, count and hash of its statement, as reports have them.
Known = dict[str, list[Any]]


def list_objects(
    http: VaultHttp, keys: MasterKeys, device_id: str, listed: dict[str, Any]
) -> dict[str, Any]:
    """Returns the states of all objects as reports have them, in a session of this device. `listed`
    are those of the list of the last rekey. Raises ValueError if one does not open, has gone back,
    or was made by an earlier master key and is not listed."""
    headers, states = {"X-Device-Id": device_id}, {}
    for object_id in object_ids(http, headers):
        try:
            shown = http.get(f"{OBJECTS}/{object_id}", headers)
        except VaultError as error:
            if error.status != 404:
                raise
            # It was deleted meanwhile.
            continue
        known = listed.get(object_id, {}).get("statements", {})
        states[object_id] = {"statements": read_statements(keys, shown, known)}
    return states


def object_ids(http: VaultHttp, headers: dict[str, str]) -> Iterator[str]:
    """Yields the ids of objects that are not deleted."""
    query = ""
    while True:
        page = http.get(f"{OBJECTS}{query}", headers)
        if not page["objects"]:
            return
        yield from (one["objectId"] for one in page["objects"] if not one.get("deleted"))
        query = f"?since={page['nextCursor']}"


def read_statements(keys: MasterKeys, shown: dict[str, Any], known: Known) -> Known:
    """Returns count and hash of each device's statement. Raises as `list_objects` does."""
    statements, of_earlier_keys = open_all(keys, shown)
    fault = find_omission(shown["version"], statements)
    states = {device: [one["count"], hash_] for device, (one, hash_) in statements.items()}
    vouched = {hash_ for _, hash_ in known.values()}
    for device, (statement, _) in statements.items():
        if device not in of_earlier_keys:
            vouched.update(hash_ for _, hash_ in statement["saw"].values())
    if any(states[device][1] not in vouched for device in of_earlier_keys):
        fault = "statements that an earlier master key made and nobody listed"
    for device, (count, hash_) in known.items():
        present = states.get(device, [0, ""])
        if present[0] < count or (present[0] == count and present[1] != hash_):
            fault = f"an older statement of {device} than the list of the rekey has"
    if fault is not None:
        raise ValueError(f"{shown['objectId']}: {fault}")
    return states


def open_all(keys: MasterKeys, shown: dict[str, Any]) -> tuple[Statements, set[str]]:
    """Opens the newest statement of each device. Returns them, and the devices whose statement only
    an earlier master key opens."""
    statements: Statements = {}
    of_earlier_keys = set()
    for device, count, sealed in newest_leaves(shown["data"]):
        for master_key in keys.all:
            try:
                opened = open_statement(master_key, shown["objectId"], device, count, sealed)
            except InvalidTag:
                continue
            statements[device] = (opened, hash_leaf(sealed))
            if master_key != keys.present:
                of_earlier_keys.add(device)
            break
        else:
            raise ValueError(f"no master key opens a statement in {shown['objectId']}")
    return statements, of_earlier_keys
