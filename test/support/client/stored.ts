import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import type { Bytes } from '../../../client/bytes/bytes.ts';
import type { OpenAccount } from '../../../client/demo/steps/account.ts';
import type { Document } from '../../../client/documents/documents.ts';
import type { StoreDocumentOptions } from '../../../client/documents/store-document.ts';
import { blobSource } from '../../../client/files/byte-source.ts';
import { createNodeHash } from '../../../client/node/hash.ts';
import type { VaultSession } from '../../../client/session.ts';
import { createSql } from '../vault/sql.ts';
import { partFile } from '../documents/stored-files.ts';
import type { Vault } from '../vault/vault.ts';

/** Returns what storing files, adding versions and downloading need from a session. */
export function toolsOf({ http, uploads, documents, memory, renewShares }: VaultSession) {
  const tools = { http, uploads, documents, memory, renewShares };
  return { ...tools, createHash: createNodeHash };
}

export function sourceOf(bytes: Bytes) {
  return blobSource(new Blob([bytes]));
}

/** Stores random bytes as a document of the user. */
export async function storeBytes(
  { session, masterKey }: OpenAccount,
  size: number,
  options: Partial<StoreDocumentOptions> = {},
): Promise<{ readonly document: Document; readonly bytes: Bytes }> {
  const bytes = randomBytes(size);
  const document = await session.storeDocument({
    name: 'evidence.bin',
    mediaType: 'application/octet-stream',
    masterKey,
    source: sourceOf(bytes),
    ...options,
  });
  return { document, bytes };
}

/** Flips a bit in the stored file of a document's only version. */
export async function damageFile(vault: Vault, id: string, offset: number): Promise<void> {
  const [row] = await createSql(vault)(
    'select storage_key from document_versions where document_id = $1',
    [id],
  );
  const path = await partFile(vault, String(row?.storage_key));
  const bytes = await readFile(path);
  bytes.writeUInt8(bytes.readUInt8(offset) ^ 1, offset);
  await writeFile(path, bytes);
}
