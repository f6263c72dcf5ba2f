import { createHash } from 'node:crypto';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { createObjectStore, type StoreConfig } from '../../../app/storage/create-store.ts';
import { decryptMetadata } from '../../../client/documents/metadata.ts';
import { deriveFileKey } from '../../../client/keys/document-key.ts';
import { decryptStream } from '../../../client/files/decryption.ts';
import { runProgram, temporaryDirectory, untilLine } from '../../support/processes/processes.ts';
import { testStack } from '../../support/vault/stack.ts';
import { testBytes } from '../../support/documents/bytes.ts';
import { listStore } from '../../uploads/cleanup/listed-store.ts';
import { query } from '../audit/audit-check.ts';
import { rounds, seed, seededRandom } from '../../support/runs/rounds.ts';
import { startS3Lab } from '../../support/processes/s3-lab.ts';
import type { UploadProgramOptions } from './upload-program.ts';
import { createAccount, logIn, type User } from '../vault/user.ts';
import {
  startVaultProcesses,
  type VaultProcesses,
} from '../../support/processes/vault-processes.ts';

const fileBytes = 72 * 2 ** 20;

test('an upload continues after its client was killed, and leaves nothing else', async (t) => {
  t.log(`SEED=${seed} ROUNDS=${rounds}`);
  await using vault = await startVaultProcesses(testStack());
  await killClients(t, vault, { driver: 'filesystem', directory: vault.objectDirectory });
});

if (process.env['FAULTS_S3'] === 'true') {
  test('a killed client’s upload also continues on an S3 server', async (t) => {
    await using lab = await startS3Lab();
    await using vault = await startVaultProcesses(testStack(), { settings: lab.settings });
    await killClients(t, vault, { driver: 's3', ...lab.config });
  });
}

async function killClients(t: ExecutionContext, vault: VaultProcesses, config: StoreConfig) {
  t.timeout(60_000 + rounds * 120_000);
  const random = seededRandom(seed);
  const account = await createAccount(vault);
  const directory = await temporaryDirectory(t);
  const run = (file: string) =>
    startUpload(t, { ...account, baseUrl: vault.baseUrl, file, journal: `${file}.resume` });

  let durationMs = 0;
  let tooLate = 0;
  for (let round = 0; round <= rounds; round++) {
    const bytes = testBytes(fileBytes, seed + round);
    const file = join(directory, `evidence-${round}`);
    await writeFile(file, bytes);
    if (round > 0) {
      const killed = run(file);
      await killed.started;
      await delay(durationMs * random());
      killed.program.kill('SIGKILL');
      await killed.program.exitCode;
    }
    // If the client was killed after its document was created, there is nothing to resume.
    const isMade = (await query(vault, 'select id from documents')).length > round;
    if (isMade) tooLate += 1;
    else {
      const { started, finished } = run(file);
      await started;
      const startedAt = performance.now();
      await finished();
      // The first upload is not killed: its duration tells when to kill the others.
      if (round === 0) durationMs = performance.now() - startedAt;
      const left = (await readdir(directory)).filter((name) => name.includes('.resume'));
      t.deepEqual(left, [], 'no journal and no lock file is left');
    }
    await rm(directory, { recursive: true });
    await mkdir(directory);
    const user = await logIn(vault, account);
    await assertStored(t, vault, config, user, bytes);
    await assertOneUpload(t, vault, user, round + 1);
  }
  t.log(`${tooLate} of ${rounds} clients were killed after their document was created`);
  await assertNothingElse(t, vault, config);
}

function startUpload(t: ExecutionContext, options: UploadProgramOptions) {
  const program = runProgram(t, ['test/faults/uploads/upload-program.ts', JSON.stringify(options)]);
  return {
    program,
    started: untilLine(program, /^uploading$/),
    finished: async () => {
      if ((await program.exitCode) !== 0) throw new Error(program.lines.join('\n'));
    },
  };
}

/**
 * Asserts that the newest document has the hash of its stored bytes, and decrypts to the original.
 */
async function assertStored(
  t: ExecutionContext,
  vault: VaultProcesses,
  config: StoreConfig,
  { session, masterKey }: User,
  original: Buffer,
): Promise<void> {
  const [newest] = await collect(session.documents.list());
  if (newest === undefined) throw new Error('the account has no document');
  const { id, encryptedMetadata } = newest;
  const name = { documentId: id, version: 1 };
  const { documentKey, metadata } = await decryptMetadata(masterKey, name, encryptedMetadata);
  const fileKey = await deriveFileKey({ documentKey }, name);
  const store = await createObjectStore(config);
  const [row] = await query<{ readonly key: string }>(
    vault,
    `select storage_key as key from document_versions where document_id = '${id}'`,
  );
  const stored = await (await store.get(row?.key ?? '')).body.toArray();
  await store.close();

  const serverHash = await session.documents.hash(id);
  const sha3 = createHash('sha3-256');
  for (const chunk of stored as Buffer[]) sha3.update(chunk);
  t.is(serverHash, sha3.digest('hex'), 'the server’s hash is the one of the stored bytes');
  t.is(serverHash, metadata.fileHash, 'the server’s hash is the one of the sent bytes');
  const pieces = await collect(decryptStream(fileKey, toStream(stored as Buffer[])));
  t.true(Buffer.concat(pieces).equals(original), 'the stored bytes decrypt to the original');
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

async function* toStream(chunks: readonly Buffer[]) {
  yield* chunks;
}

/** Asserts that all parts of each file went to one upload session, which is completed. */
async function assertOneUpload(
  t: ExecutionContext,
  vault: VaultProcesses,
  { session }: User,
  files: number,
): Promise<void> {
  const used = await query<{ readonly status: string }>(
    vault,
    `select status from upload_sessions s
     where exists (select from upload_parts where session_id = s.id)`,
  );
  t.deepEqual(
    used.map(({ status }) => status),
    Array.from({ length: files }, () => 'COMPLETED'),
  );
  t.is((await collect(session.documents.list())).length, files);
}

/**
 * Asserts that the store holds nothing but documents and open upload sessions. A client killed
 * before it recorded its session leaves an empty one, which expires.
 */
async function assertNothingElse(
  t: ExecutionContext,
  vault: VaultProcesses,
  config: StoreConfig,
): Promise<void> {
  const store = await createObjectStore(config);
  const { uploads, objects } = await listStore(store);
  await store.close();
  const documents = await query<{ readonly key: string }>(
    vault,
    'select storage_key as key from document_versions order by 1',
  );
  t.deepEqual(
    objects,
    documents.map(({ key }) => key),
  );
  const open = await query<{ readonly id: string }>(
    vault,
    "select storage_upload_id as id from upload_sessions where status = 'IN_PROGRESS'",
  );
  t.deepEqual(uploads, open.map(({ id }) => id).toSorted());
  t.log(`${objects.length} objects, ${open.length} empty sessions`);
}
