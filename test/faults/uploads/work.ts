import type { Bytes } from '../../../client/bytes/bytes.ts';
import { blobSource } from '../../../client/files/byte-source.ts';
import type { UploadedFile } from '../../../client/uploads/upload.ts';
import { createMemoryJournal } from '../vault/memory-journal.ts';
import { persist } from '../vault/steady-work.ts';
import type { User } from '../vault/user.ts';

/** Stores a document, retrying until it succeeds. */
export function storeDocument({ session, masterKey }: User, bytes: Bytes): Promise<unknown> {
  const document = {
    source: blobSource(new Blob([bytes])),
    resume: createMemoryJournal(),
    masterKey,
    name: 'evidence.bin',
    mediaType: 'application/octet-stream',
  };
  return persist(() => session.storeDocument(document));
}

/** An upload from which no document is created. */
export interface BareUpload {
  /** Continues the upload to its end, retrying until it succeeds. */
  finish(): Promise<UploadedFile>;
  /**
   * Continues the upload until `stop` aborts. Resolves with undefined if that happens before its
   * end.
   */
  begin(stop: AbortSignal): Promise<UploadedFile | undefined>;
}

export function createBareUpload({ session, masterKey }: User, bytes: Bytes): BareUpload {
  const options = {
    source: blobSource(new Blob([bytes])),
    resume: createMemoryJournal(),
    masterKey,
  };
  return {
    finish: () => persist(() => session.uploadFile(options)),
    async begin(signal) {
      try {
        return await persist(async () => {
          signal.throwIfAborted();
          return session.uploadFile({ ...options, signal });
        });
      } catch (error) {
        if (signal.aborted) return undefined;
        throw error;
      }
    },
  };
}
