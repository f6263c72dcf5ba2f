"""Reads the validation e-mail from a directory of .eml files in place of a mailbox."""

import re
import time
from email import message_from_binary_file
from email.message import EmailMessage
from email.policy import default
from email.utils import getaddresses
from pathlib import Path
from typing import NamedTuple

POLL_SECONDS = 0.1


class ValidationMail(NamedTuple):
    fingerprint: str
    token: str


def parse_validation_mail(message: EmailMessage) -> ValidationMail | None:
    """Parses the plain text. Returns None for an e-mail about something else."""
    body = message.get_body(("plain",))
    text = "" if body is None else body.get_content()
    fingerprint = re.search(r"^Fingerprint: ([0-9a-f]{8})\s*$", text, re.MULTILINE)
    token = re.search(r"^Token: (\S+)\s*$", text, re.MULTILINE)
    if fingerprint is None or token is None:
        return None
    return ValidationMail(fingerprint.group(1), token.group(1))


def read_mails(directory: Path, recipient: str) -> list[ValidationMail]:
    found = []
    for path in sorted(directory.glob("*.eml")):
        with path.open("rb") as file:
            message = message_from_binary_file(file, _class=EmailMessage, policy=default)
        recipients = [address for _, address in getaddresses(message.get_all("To", []))]
        mail = parse_validation_mail(message)
        if mail is not None and recipient in recipients:
            found.append(mail)
    return found


def wait_for_mail(directory: Path, recipient: str, timeout_seconds: float = 30) -> ValidationMail:
    """Returns the newest e-mail to this recipient. Raises TimeoutError if none comes."""
    deadline = time.monotonic() + timeout_seconds
    while time.monotonic() < deadline:
        if mails := read_mails(directory, recipient):
            return mails[-1]
        time.sleep(POLL_SECONDS)
    raise TimeoutError("no validation e-mail came")
