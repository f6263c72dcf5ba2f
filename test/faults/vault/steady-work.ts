import { setTimeout as delay } from 'node:timers/promises';
import { ClientError } from '../../../client/errors/client-error.ts';
import { blobSource } from '../../../client/files/byte-source.ts';
import { isPassing } from '../../../client/http/retry.ts';
import { VaultError } from '../../../client/errors/vault-error.ts';
import { testBytes } from '../../support/documents/bytes.ts';
import { createMemoryJournal } from './memory-journal.ts';
import type { User } from './user.ts';

/** Longer than every lease of a dead process. */
const patienceMs = 240_000;
const pauseMs = 250;
/** Error codes of a retry after the document was created and the response was lost. */
const madeBefore: ReadonlySet<string> = new Set(['duplicate_hash', 'stored_file_not_found']);

/** Retries until the server is back and the leases of a killed one have ended. */
export async function persist<T>(work: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const isAway = error instanceof ClientError && error.code === 'network_error';
      if ((!isAway && !isPassing(error)) || performance.now() > deadline) throw error;
      await delay(pauseMs);
    }
  }
}

interface SteadyWork {
  readonly fileBytes: number;
  readonly seed: number;
  readonly stop: AbortSignal;
  /** Is called with the id of each document whose creation the vault acknowledged. */
  readonly onStored?: (documentId: string) => void;
}

/** Stores files of `fileBytes` and certifies them, in sequence, until `stop` aborts. */
export async function storeSteadily(
  { session, masterKey }: User,
  { fileBytes, seed, stop, onStored }: SteadyWork,
): Promise<void> {
  for (let turn = 0; !stop.aborted; turn++) {
    const bytes = new Uint8Array(testBytes(fileBytes, seed + turn));
    const document = {
      source: blobSource(new Blob([bytes])),
      resume: createMemoryJournal(),
      masterKey,
      name: 'evidence.bin',
      mediaType: 'application/octet-stream',
    };
    try {
      const { id } = await persist(() => session.storeDocument(document));
      onStored?.(id);
      await persist(() => session.certifyDocument(id));
    } catch (error) {
      if (!(error instanceof VaultError && madeBefore.has(error.code))) throw error;
    }
  }
}

/** Certifies documents that `storeSteadily` created without learning their ids. */
export async function certifyRest({ session }: User): Promise<void> {
  for await (const { id, status } of session.documents.list()) {
    if (status === 'PENDING') await persist(() => session.certifyDocument(id));
  }
}
