"""Who runs a command, and with what."""

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

from devices import read_device
from session import MasterKeys, Session, log_in, open_master_keys
from vault_http import VaultHttp


class User(NamedTuple):
    vault: VaultHttp
    arguments: argparse.Namespace
    password: str

    def log_in(self) -> tuple[Session, MasterKeys]:
        """Logs in, on the device in the file of the arguments if they name one."""
        file = getattr(self.arguments, "device", None)
        device_id = read_device(file).id if file is not None and file.exists() else None
        session = log_in(self.vault, self.arguments.email, self.password, device_id)
        return session, open_master_keys(session)


def read_json(file: Path) -> Any:
    return json.loads(file.read_text("utf-8"))
