import { bytesToHex } from '@noble/hashes/utils.js';
import type { Bytes } from '../../../client/bytes/bytes.ts';
import { readSealedEntry } from '../../../client/demo/steps/sealed-entry.ts';
import { openDocument } from '../../../client/documents/open-document.ts';
import { searchDocuments } from '../../../client/documents/search-documents.ts';
import { downloadFile } from '../../../client/downloads/download.ts';
import { blobSource, type ByteSource } from '../../../client/files/byte-source.ts';
import { createWasmHash } from '../../../client/crypto/hash.ts';
import type { StoredFile } from '../../../client/files/stored-file.ts';
import { verifyProof } from '../../../client/proofs/verify-proof.ts';
import { present } from './account.ts';
import { pauseBeforeEnd } from './pausing-source.ts';

/** The part of the DOM that the page needs: the project is checked with the types of Node. */
declare const document: { querySelector(selectors: string): { readonly files: readonly File[] } };

interface OfDocument {
  readonly id: string;
}

let paused: { readonly stored: ReturnType<typeof store>; goOn(): void } | undefined;

export const documentSteps = {
  storeChosenFile({ keyword }: { readonly keyword: string }) {
    const file = chosenFile();
    return store(file.name, blobSource(file), keyword);
  },

  /** Begins to store the chosen file, and resolves when all but its last bytes are read. */
  async storeAlmostAll({ keyword }: { readonly keyword: string }) {
    const file = chosenFile();
    const { source, isPaused, goOn } = pauseBeforeEnd(blobSource(file));
    const stored = store(file.name, source, keyword);
    paused = { stored, goOn };
    await Promise.race([isPaused, stored]);
  },

  /** Stores the rest of the file of `storeAlmostAll`. */
  async storeRest() {
    if (paused === undefined) throw new Error('no file is paused');
    paused.goOn();
    return paused.stored;
  },

  /** Resolves with the verdict on the proof. Throws if the proof is not of this document. */
  async certify({ id, trustedKeys }: OfDocument & { readonly trustedKeys: readonly string[] }) {
    const { session } = present();
    const { proof } = await session.certifyDocument(id);
    readSealedEntry(proof.entryCanonical, await session.documents.get(id));
    return verifyProof(proof, { trustedKeys });
  },

  async search({ keyword }: { readonly keyword: string }) {
    const { session, masterKey } = present();
    const ids: string[] = [];
    for await (const { id } of searchDocuments(session, { masterKey, all: [keyword] }))
      ids.push(id);
    return ids;
  },

  async download({ id }: OfDocument) {
    const { session, masterKey } = present();
    const opened = await openDocument(session, { id, masterKey });
    return { name: opened.metadata.name, ...(await readFile(opened)) };
  },

  async readMetadata({ id }: OfDocument) {
    const { session, masterKey } = present();
    return (await openDocument(session, { id, masterKey })).metadata;
  },

  enableSharing: () => present().session.enableSharing(),

  /** Shares the document with the account whose fingerprint this is. */
  async share({
    id,
    email,
    fingerprint,
  }: OfDocument & { readonly email: string; readonly fingerprint: string }) {
    const confirm = (shown: string) => shown === fingerprint;
    await present().session.shareDocument(id, email, { confirm });
  },

  async downloadShared() {
    const { session } = present();
    const files = [];
    for await (const { shareId } of session.listShared()) {
      const opened = await session.openShared(shareId);
      files.push({ name: opened.metadata.name, ...(await readFile(opened)) });
    }
    return files;
  },
};

function chosenFile(): File {
  const [file] = document.querySelector('input[type=file]').files;
  if (file === undefined) throw new Error('no file is chosen');
  return file;
}

function store(name: string, source: ByteSource, keyword: string) {
  const { session, masterKey } = present();
  const mediaType = 'application/octet-stream';
  return session.storeDocument({ source, name, mediaType, keywords: [keyword], masterKey });
}

/** Resolves with the size and the SHA-256 of the plaintext. */
async function readFile(
  file: StoredFile,
): Promise<{ readonly size: number; readonly sha256: string }> {
  const { http } = present().session;
  const pieces: Bytes[] = [];
  for await (const piece of downloadFile({ http, createHash: createWasmHash }, file))
    pieces.push(piece);
  const bytes = await new Blob(pieces).arrayBuffer();
  const digest = await crypto.subtle.digest('SHA-256', bytes);
  return { size: bytes.byteLength, sha256: bytesToHex(new Uint8Array(digest)) };
}
