"""Makes and opens what a new master key leaves: the keyring, and the envelopes of devices."""

import json
import os
from typing import Any, NamedTuple

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import strict_base64
from identity import Identity
from key_wrap import derive_key, unwrap_master_key, wrap_master_key

VERSION = b"\x01"
KEYRING_VERSION = b"\x03"
GENERATION_BYTES = 4
NONCE_BYTES = 12
KEY_BYTES = 32
INFO_BLOCK_BYTES = 256


class KeyringHeader(NamedTuple):
    generation: int
    rekey_key: bytes


class ListEnd(NamedTuple):
    """The last record of the list of what was there at a rekey."""

    writer: str
    number: int
    hash: str


class Keyring(NamedTuple):
    earlier_keys: list[bytes]
    earlier_identities: list[Identity]
    public_keys: dict[str, bytes]
    list_end: ListEnd | None = None


def device_private_key(device_key: bytes) -> X25519PrivateKey:
    private_key = derive_key(device_key, "Service_Device_Key_Pair_v1")
    return X25519PrivateKey.from_private_bytes(private_key)


def seal_device_info(master_key: bytes, device_id: str, info: dict[str, str]) -> str:
    text = json.dumps(info).encode()
    text += b" " * (-len(text) % INFO_BLOCK_BYTES)
    nonce, key = os.urandom(NONCE_BYTES), derive_key(master_key, "Service_Device_Info_v1")
    sealed = AESGCM(key).encrypt(nonce, text, VERSION + device_id.encode())
    return strict_base64.encode(VERSION + nonce + sealed)


def open_device_info(master_key: bytes, device_id: str, encrypted_info: str) -> Any:
    """Opens a device's info. Raises InvalidTag for another master key or device."""
    data = strict_base64.decode(encrypted_info)
    if data[:1] != VERSION:
        raise ValueError("unknown version of a device's info")
    nonce, ciphertext = data[1 : 1 + NONCE_BYTES], data[1 + NONCE_BYTES :]
    cipher = AESGCM(derive_key(master_key, "Service_Device_Info_v1"))
    return json.loads(cipher.decrypt(nonce, ciphertext, VERSION + device_id.encode()))


def generation_of(keyring: str | None) -> int:
    """The generation of the master key that belongs to a keyring, or to none."""
    return 1 if keyring is None else read_header(keyring).generation


def read_header(keyring: str) -> KeyringHeader:
    """Reads what is not encrypted. It is authenticated only once the keyring has been opened."""
    data = strict_base64.decode(keyring)
    if data[:1] != KEYRING_VERSION:
        raise ValueError("unknown version of a keyring")
    start = 1 + GENERATION_BYTES
    return KeyringHeader(int.from_bytes(data[1:start], "big"), data[start : start + KEY_BYTES])


def open_device_envelope(
    device_key: bytes, device_id: str, envelope: str, keyring: str
) -> bytes:
    """Opens the envelope that a rekey made for a device. (Until the next rekey, the envelope of a
    device that was added is under K_device itself.) Raises InvalidUnwrap."""
    private_key = device_private_key(device_key)
    generation, rekey_key = read_header(keyring)
    shared = private_key.exchange(X25519PublicKey.from_public_bytes(rekey_key))
    own_key = private_key.public_key().public_bytes_raw()
    key = agreed_key(shared, device_id, rekey_key, own_key)
    return unwrap_master_key(key, strict_base64.decode(envelope), generation)


def seal_device_envelope(
    rekey_private_key: X25519PrivateKey,
    device_id: str,
    public_key: bytes,
    master_key: bytes,
    generation: int,
) -> str:
    """Makes the envelope of a device for which a rekey is made."""
    shared = rekey_private_key.exchange(X25519PublicKey.from_public_bytes(public_key))
    rekey_key = rekey_private_key.public_key().public_bytes_raw()
    key = agreed_key(shared, device_id, rekey_key, public_key)
    return strict_base64.encode(wrap_master_key(key, master_key, generation))


def agreed_key(shared: bytes, device_id: str, rekey_key: bytes, public_key: bytes) -> bytes:
    return derive_key(shared, "Service_Device_Envelope_v1" + device_id, rekey_key + public_key)


def open_keyring(master_key: bytes, keyring: str) -> Keyring:
    """Opens a keyring. Raises InvalidTag for another master key, ValueError if keys are missing."""
    generation = read_header(keyring).generation
    data = strict_base64.decode(keyring)
    head_bytes = 1 + GENERATION_BYTES + KEY_BYTES
    head, rest = data[:head_bytes], data[head_bytes:]
    cipher = AESGCM(derive_key(master_key, "Service_Keyring_v3"))
    content = json.loads(cipher.decrypt(rest[:NONCE_BYTES], rest[NONCE_BYTES:], head))
    if len(content["earlierKeys"]) + 1 != generation:
        raise ValueError("a keyring holds every earlier master key")
    return Keyring(
        [strict_base64.decode(key) for key in content["earlierKeys"]],
        [
            Identity(strict_base64.decode(one["privateKey"]), strict_base64.decode(one["signingSeed"]))
            for one in content["earlierIdentities"]
        ],
        {
            device["deviceId"]: strict_base64.decode(device["publicKey"])
            for device in content["devices"]
        },
        ListEnd(**{name: content["list"][name] for name in ListEnd._fields})
        if "list" in content
        else None,
    )


def seal_keyring(master_key: bytes, header: KeyringHeader, keyring: Keyring) -> str:
    encode = strict_base64.encode
    content: dict[str, Any] = {
        "earlierKeys": [encode(key) for key in keyring.earlier_keys],
        "earlierIdentities": [
            {"privateKey": encode(one.private_key), "signingSeed": encode(one.signing_seed)}
            for one in keyring.earlier_identities
        ],
        "devices": [
            {"deviceId": device_id, "publicKey": encode(public_key)}
            for device_id, public_key in keyring.public_keys.items()
        ],
    }
    if keyring.list_end is not None:
        content["list"] = keyring.list_end._asdict()
    generation = header.generation.to_bytes(GENERATION_BYTES, "big")
    head, nonce = KEYRING_VERSION + generation + header.rekey_key, os.urandom(NONCE_BYTES)
    cipher = AESGCM(derive_key(master_key, "Service_Keyring_v3"))
    return encode(head + nonce + cipher.encrypt(nonce, json.dumps(content).encode(), head))
