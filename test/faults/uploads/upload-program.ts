/**
 * Stores one file as a document, resuming an earlier run that was killed. Prints `uploading` once
 * it is logged in.
 */
import { openFileSource } from '../../../client/node/file-source.ts';
import { createNodeHash } from '../../../client/node/hash.ts';
import { openResumeFile } from '../../../client/node/resume-file.ts';
import { createVaultClient } from '../../../client/vault.ts';

/** The program's one argument, as JSON. */
export interface UploadProgramOptions {
  readonly baseUrl: string;
  readonly email: string;
  readonly password: string;
  readonly file: string;
  readonly journal: string;
}

const options = JSON.parse(process.argv[2] ?? '') as UploadProgramOptions;
const client = createVaultClient({
  baseUrl: options.baseUrl,
  createHash: createNodeHash,
});
const session = await client.login(options);
const masterKey = await session.envelopes.openMasterKey();
await using source = await openFileSource(options.file);
await using resume = await openResumeFile(options.journal);
console.log('uploading');
await session.storeDocument({
  source,
  resume,
  masterKey,
  name: 'evidence.bin',
  mediaType: 'application/octet-stream',
});
