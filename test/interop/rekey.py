"""Opens what a new master key leaves: the keyring, and the envelopes of devices."""

import json
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

import strict_base64
from key_wrap import derive_key, unwrap_key

VERSION = b"\x01"
KEYRING_VERSION = b"\x02"
NONCE_BYTES = 12
KEY_BYTES = 32


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


def open_device_envelope(
    device_key: bytes, device_id: str, envelope: str, keyring: str
) -> bytes:
    """Opens the envelope that a rekey made for a device. (Before any rekey, the envelope is under
    K_device itself.) Raises InvalidUnwrap."""
    private_key = device_private_key(device_key)
    rekey_key = strict_base64.decode(keyring)[1 : 1 + KEY_BYTES]
    shared = private_key.exchange(X25519PublicKey.from_public_bytes(rekey_key))
    salt = rekey_key + private_key.public_key().public_bytes_raw()
    wrapping_key = derive_key(shared, "Service_Device_Envelope_v1" + device_id, salt)
    return unwrap_key(wrapping_key, strict_base64.decode(envelope))


def open_keyring(master_key: bytes, keyring: str) -> Keyring:
    """Opens a keyring. Raises InvalidTag for another master key."""
    data = strict_base64.decode(keyring)
    if data[:1] != KEYRING_VERSION:
        raise ValueError("unknown version of a keyring")
    head, rest = data[: 1 + KEY_BYTES], data[1 + KEY_BYTES :]
    cipher = AESGCM(derive_key(master_key, "Service_Keyring_v2"))
    content = json.loads(cipher.decrypt(rest[:NONCE_BYTES], rest[NONCE_BYTES:], head))
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
