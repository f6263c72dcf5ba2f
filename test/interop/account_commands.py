"""Commands for accounts, keys and devices."""

import hmac
from typing import Any

from credentials import recover, set_words
from devices import add_device, create_device, open_on_device, read_device
from documents import read_document, state_of
from identity import load_identity
from memory import newest_states, read_reports, write_report
from new_master_key import change_master_key
from recovery_words import create_words
from session import create_master_key, log_in, normalize_email, register, validate
from user import User, read_json
from validation_mail import wait_for_mail


def create_account(user: User) -> Any:
    http, arguments = user.vault, user.arguments
    fingerprint = register(http, arguments.email, user.password)
    mail = wait_for_mail(arguments.mail, normalize_email(arguments.email))
    if not hmac.compare_digest(mail.fingerprint, fingerprint):
        raise ValueError("somebody else registered this e-mail address")
    validate(http, mail.token)
    session = log_in(http, arguments.email, user.password)
    identity = load_identity(session.http, create_master_key(session))
    return {"fingerprint": fingerprint, "identity": identity.public.fingerprint}


def show_identity(user: User) -> Any:
    session, keys = user.log_in()
    return {"fingerprint": load_identity(session.http, keys.present).public.fingerprint}


def show_words(user: User) -> Any:
    """Makes words for the user to write down. They are set once the user typed them from there."""
    return {"words": create_words()}


def keep_words(user: User) -> Any:
    session, keys = user.log_in()
    words = read_json(user.arguments.secrets)["words"]
    set_words(session, keys, user.arguments.email, user.password, words)
    return {}


def recover_account(user: User) -> Any:
    """Sets the password of this user by the words."""
    words = read_json(user.arguments.secrets)["words"]
    recover(user.vault, user.arguments.email, words, user.password)
    return {}


def rekey(user: User) -> Any:
    session, keys = user.log_in()
    secrets = read_json(user.arguments.secrets)
    passwords = (user.password, secrets["password"])
    email, words = user.arguments.email, secrets["words"]
    return {"fingerprint": change_master_key(session, keys, email, passwords, words)}


def register_device(user: User) -> Any:
    session, keys = user.log_in()
    device = create_device(user.arguments.device)
    add_device(session.http, keys, device, "interop")
    return {"deviceId": device.id}


def check_device(user: User) -> Any:
    """Compares the master key that the device opens with the one that the password opens."""
    session, keys = user.log_in()
    opened = open_on_device(session.http, read_device(user.arguments.device), keys.generation)
    return {"same": hmac.compare_digest(opened, keys.present), "generation": keys.generation}


def tell(user: User) -> Any:
    """Tells the user's other devices the present states of documents."""
    session, keys = user.log_in()
    states = {
        document_id: state_of(read_document(session.http, keys, document_id))
        for document_id in user.arguments.document
    }
    identity = load_identity(session.http, keys.present)
    device_id = read_device(user.arguments.device).id
    return {"number": write_report(session.http, keys, identity, device_id, {"documents": states})}


def show_told(user: User) -> Any:
    session, keys = user.log_in()
    identity = load_identity(session.http, keys.present)
    told = read_reports(session.http, keys, identity)
    return {
        "writers": {writer: read.number for writer, read in told.items()},
        "documents": newest_states(told),
    }
