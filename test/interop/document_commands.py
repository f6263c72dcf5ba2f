"""Commands for documents, sealed or not."""

from typing import Any

from content import full_opening, segments_opening
from documents import (
    Document,
    add_version,
    certify,
    change_metadata,
    delete,
    read_document,
    read_documents,
    read_versions,
    store_file,
)
from encrypted_file import decrypt_file
from session import MasterKeys, Session
from user import User


def store(user: User) -> Any:
    session, keys = user.log_in()
    return {"documentId": store_argument(session, keys, user).id}


def store_argument(session: Session, keys: MasterKeys, user: User) -> Document:
    """Stores the file of the arguments."""
    arguments, path = user.arguments, user.arguments.file
    return store_file(
        session.http, keys, path.name, arguments.media_type, path.read_bytes(), arguments.keyword
    )


def seal(user: User) -> Any:
    session, keys = user.log_in()
    arguments, path = user.arguments, user.arguments.file
    plaintext = path.read_bytes()
    document = store_argument(session, keys, user)
    proof = certify(session.http, keys, document, arguments.audit_key)
    content = document.metadata["content"]
    openings = [full_opening(content, len(plaintext))]
    if arguments.segment:
        openings.append(segments_opening(content, plaintext, arguments.segment))
    return {
        "documentId": document.id,
        "fileHash": document.metadata["fileHash"],
        "proof": proof,
        "openings": openings,
    }


def add(user: User) -> Any:
    session, keys = user.log_in()
    arguments = user.arguments
    plaintext = arguments.file.read_bytes()
    added = add_version(session.http, keys, arguments.document, plaintext)
    return {"version": added.place.version.number, "metadata": added.metadata}


def change(user: User) -> Any:
    session, keys = user.log_in()
    arguments = user.arguments
    changed = change_metadata(
        session.http, keys, arguments.document, arguments.name, arguments.keyword
    )
    return {"change": changed.place.change, "metadata": changed.metadata}


def remove(user: User) -> Any:
    session, keys = user.log_in()
    delete(session.http, keys, user.arguments.document)
    return {}


def show_documents(user: User) -> Any:
    session, keys = user.log_in()
    documents = read_documents(session.http, keys, user.arguments.page_size)
    return {
        "documents": [
            {"id": document.id, "status": document.status, "metadata": document.metadata}
            for document in documents
        ]
    }


def show_versions(user: User) -> Any:
    session, keys = user.log_in()
    versions = read_versions(session.http, keys, user.arguments.document)
    return [
        {"version": one.place.version.number, "metadata": one.metadata} for one in versions
    ]


def open_file(user: User) -> Any:
    session, keys = user.log_in()
    arguments = user.arguments
    document = read_document(session.http, keys, arguments.document)
    plaintext = decrypt_file(document.file_key, arguments.encrypted.read_bytes())
    arguments.output.write_bytes(plaintext)
    return {"size": len(plaintext)}


def disclose(user: User) -> Any:
    session, keys = user.log_in()
    document = read_document(session.http, keys, user.arguments.document)
    return full_opening(document.metadata["content"], document.metadata["size"])
