"""Makes a new master key, a rekey, with everything that belongs to it in one request."""

import os
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

import strict_base64
from credentials import CREDENTIALS, make_credential, password_body, words_body
from documents import read_documents, state_of
from identity import create_identity, load_identity, read_names, wrap_identity
from memory import read_list, write_list
from objects import list_objects
from passwords import PASSWORD
from rekey import Keyring, KeyringHeader, open_device_info, seal_device_envelope, seal_keyring
from session import MasterKeys, Session, reauthenticate
from vault_http import VaultHttp

DEVICES = "/v1/crypto/keys/devices"


def change_master_key(
    session: Session, keys: MasterKeys, email: str, passwords: tuple[str, str], words: str
) -> str:
    """Changes the master key, the password from the first to the second, the recovery words and the
    identity. Every device must have a public key. Returns the fingerprint of the new identity. Raises
    ValueError, InvalidUnwrap or InvalidTag, before anything is changed, if something of the present
    state does not open."""
    http, (password, new_password) = session.http, passwords
    proof = reauthenticate(session, email, password)
    before, names = load_identity(http, keys.present), read_names(http)
    public_keys = read_public_keys(http, keys)
    listed = list_all(session, keys)
    master_key, generation, identity = os.urandom(32), keys.generation + 1, create_identity()
    list_end = write_list(http, master_key, generation, identity, listed)
    rekey_key = X25519PrivateKey.generate()
    keyring = Keyring(keys.all, [before, *keys.earlier_identities], public_keys, list_end)
    header = KeyringHeader(generation, rekey_key.public_key().public_bytes_raw())
    credential = make_credential(new_password, PASSWORD, master_key, generation)
    body: dict[str, Any] = {
        **password_body(credential),
        "recovery": words_body(words, master_key, generation),
        "devices": [
            {
                "deviceId": device_id,
                "encryptedEnvelope": seal_device_envelope(
                    rekey_key, device_id, public_key, master_key, generation
                ),
            }
            for device_id, public_key in public_keys.items()
        ],
        "keyring": seal_keyring(master_key, header, keyring),
        "identity": wrap_identity(master_key, names, identity, before),
    }
    http.put(CREDENTIALS, body, proof)
    return identity.public.fingerprint


def list_all(session: Session, keys: MasterKeys) -> dict[str, Any]:
    """Returns the states of documents and, in a session that is bound to a device, of synchronised
    objects: no other session may read them."""
    documents = read_documents(session.http, keys, 100)
    objects = {}
    if session.device_id is not None:
        before = read_list(session.http, keys)["objects"]
        objects = list_objects(session.http, keys, session.device_id, before)
    return {
        "documents": {document.id: state_of(document) for document in documents},
        "objects": objects,
    }


def read_public_keys(http: VaultHttp, keys: MasterKeys) -> dict[str, bytes]:
    """Returns the public key of each device that the vault lists: from the device's info, if it opens
    under the present master key, and otherwise from the keyring."""
    public_keys = {}
    for item in http.get_pages(DEVICES):
        device_id = item["deviceId"]
        try:
            info = open_device_info(keys.present, device_id, item["encryptedInfo"])
            public_keys[device_id] = strict_base64.decode(info["publicKey"])
        except InvalidTag:
            public_keys[device_id] = keys.keyring.public_keys[device_id]
    return public_keys
