import type { Bytes } from '../../../client/bytes/bytes.ts';
import { blobSource } from '../../../client/files/byte-source.ts';
import type { UploadedFile } from '../../../client/uploads/upload.ts';
import { createMemoryJournal } from '../vault/memory-journal.ts';
import { persist } from '../vault/steady-work.ts';
import type { User } from '../vault/user.ts';

/** Stores a document, however often it has to be tried. */
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

/** An upload of which no document is made. */
export interface BareUpload {
  /** Goes on with it to its end, however often it has to be tried. */
  finish(): Promise<UploadedFile>;
  /** The same until `stop` aborts. Undefined if it did before the end. */
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
