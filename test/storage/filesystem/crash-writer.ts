import { randomUUID } from 'node:crypto';
import { createObjectStore } from '../../../app/storage/create-store.ts';
import { crashParts, type CrashEvent } from './crash-parts.ts';
import { putBytes } from '../../support/documents/stored.ts';

// Works on the store in argv[2] until it is killed, and prints what the store has acknowledged.
const store = await createObjectStore({
  driver: 'filesystem',
  directory: process.argv[2] as string,
});
const tell = (event: CrashEvent) => process.stdout.write(`${JSON.stringify(event)}\n`);

for (let turn = 0; ; turn++) {
  const key = `${randomUUID()}/file.bin`;
  const uploadId = await store.createMultipart(key);
  tell({ type: 'opened', key, uploadId });
  const parts = await Promise.all(
    crashParts(key).map((bytes, index) => putBytes(store, { key, uploadId }, index + 1, bytes)),
  );
  tell({ type: 'sent', key, uploadId, parts });
  if (turn % 4 === 3) {
    tell({ type: 'aborting', key, uploadId });
    await store.abortMultipart(key, uploadId);
    tell({ type: 'aborted', key, uploadId });
    continue;
  }
  const { version } = await store.completeMultipart(key, uploadId, parts);
  tell({ type: 'completed', key, uploadId, version });
  if (turn % 4 === 2) {
    tell({ type: 'deleting', key, uploadId });
    await store.delete(key, version);
    tell({ type: 'deleted', key, uploadId });
  }
}
