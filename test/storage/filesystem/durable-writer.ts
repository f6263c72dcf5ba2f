import { access } from 'node:fs/promises';
import { createObjectStore } from '../../../app/storage/create-store.ts';
import { testBytes } from '../../support/documents/bytes.ts';
import { openUpload, putBytes } from '../../support/documents/stored.ts';

// Uses the store in argv[2] and accesses `/acknowledged/<step>` after each step, so that a trace of
// the file system shows the steps.
const acknowledge = (step: string) => access(`/acknowledged/${step}`).catch(() => undefined);

const store = await createObjectStore({
  driver: 'filesystem',
  directory: process.argv[2] as string,
});
await acknowledge('create');
const upload = await openUpload(store);
await acknowledge('open');
const part = await putBytes(store, upload, 1, testBytes(100_000, 1));
await acknowledge('part');
await store.completeMultipart(upload.key, upload.uploadId, [part]);
await acknowledge('complete');
await store.delete(upload.key);
await acknowledge('delete');
const aborted = await openUpload(store);
await store.abortMultipart(aborted.key, aborted.uploadId);
await acknowledge('abort');
