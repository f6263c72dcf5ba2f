"""Opens what a new master key leaves: the keyring, and the envelopes of devices."""

import json
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import strict_base64
from key_wrap import derive_key, unwrap_master_key

VERSION = b"\x01"
KEYRING_VERSION = b"\x03"
GENERATION_BYTES = 4
NONCE_BYTES = 12
KEY_BYTES = 32


class KeyringHeader(NamedTuple):
    generation: int
    rekey_key: bytes


class Keyring(NamedTuple):
    earlier_keys: list[bytes]
    earlier_identities: list[tuple[bytes, bytes]]
    public_keys: dict[str, bytes]


def device_private_key(device_key: bytes) -> X25519PrivateKey:
    private_key = derive_key(device_key, "Service_Device_Key_Pair_v1")
    return X25519PrivateKey.from_private_bytes(private_key)


def open_device_info(master_key: bytes, device_id: str, encrypted_info: str) -> object:
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
    salt = rekey_key + private_key.public_key().public_bytes_raw()
    agreed_key = derive_key(shared, "Service_Device_Envelope_v1" + device_id, salt)
    return unwrap_master_key(agreed_key, strict_base64.decode(envelope), generation)


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
            (strict_base64.decode(one["privateKey"]), strict_base64.decode(one["signingSeed"]))
            for one in content["earlierIdentities"]
        ],
        {
            device["deviceId"]: strict_base64.decode(device["publicKey"])
            for device in content["devices"]
        },
    )
