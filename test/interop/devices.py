"""Adds this client as a device of the user, and opens the master key on it."""

import json
import os
import uuid
from pathlib import Path
from typing import NamedTuple

import strict_base64
from key_wrap import unwrap_master_key, wrap_master_key
from rekey import device_private_key, open_device_envelope, open_keyring, seal_device_info
from session import MASTER_ENVELOPE, MasterKeys
from vault_http import VaultHttp


class Device(NamedTuple):
    id: str
    key: bytes


def create_device(file: Path) -> Device:
    """Makes the id and the key of a device, and stores them in a file that only its owner reads."""
    device = Device(str(uuid.uuid4()), os.urandom(32))
    with open(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as stored:
        json.dump({"deviceId": device.id, "deviceKey": device.key.hex()}, stored)
        stored.flush()
        os.fsync(stored.fileno())
    return device


def read_device(file: Path) -> Device:
    stored = json.loads(file.read_text())
    return Device(stored["deviceId"], bytes.fromhex(stored["deviceKey"]))


def add_device(http: VaultHttp, keys: MasterKeys, device: Device, name: str) -> None:
    """Registers a device."""
    public_key = device_private_key(device.key).public_key().public_bytes_raw()
    info = {"name": name, "platform": "Python", "publicKey": strict_base64.encode(public_key)}
    envelope = wrap_master_key(device.key, keys.present, keys.generation)
    http.post(
        "/v1/crypto/keys/device-envelope",
        {
            "deviceId": device.id,
            "encryptedInfo": seal_device_info(keys.present, device.id, info),
            "encryptedEnvelope": strict_base64.encode(envelope),
        },
    )


def open_on_device(http: VaultHttp, device: Device, generation: int) -> bytes:
    """Opens the master key of a generation on a device, as it was added or after a rekey. Raises
    InvalidUnwrap or InvalidTag for another key or generation."""
    envelope = http.get(f"/v1/crypto/keys/device-envelope/{device.id}")["encryptedEnvelope"]
    keyring = http.get(MASTER_ENVELOPE)["keyring"]
    if keyring is None:
        return unwrap_master_key(device.key, strict_base64.decode(envelope), generation)
    master_key = open_device_envelope(device.key, device.id, envelope, keyring)
    open_keyring(master_key, keyring)
    return master_key
