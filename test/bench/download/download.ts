import { createRepeatedLogin } from '../../faults/vault/login.ts';
import { startS3Lab, type S3Lab } from '../../support/processes/s3-lab.ts';
import { storeParts } from '../../faults/uploads/store-parts.ts';
import { createAccount, logIn } from '../../faults/vault/user.ts';
import {
  startVaultProcesses,
  type VaultProcesses,
} from '../../support/processes/vault-processes.ts';
import { median, round, type Bench } from '../harness/bench.ts';
import { startBenchStack } from '../harness/bench-stack.ts';
import { startChild } from '../../support/processes/child.ts';
import type { PipeSource } from './pipe-server.ts';
import type { Collection } from './receiver.ts';

const rounds = 9;
const shape = { parts: 16, partBytes: 16 * 2 ** 20, concurrency: 4 };
const fileBytes = shape.parts * shape.partBytes;
const perRound = { bytes: fileBytes, times: 4, concurrency: 2 };

/**
 * Measures MB/s of downloading a document stored in S3 through the API, against a bare Node proxy.
 */
export const benchDownload: Bench = async (progress) => {
  await using stack = await startBenchStack();
  await using lab = await startS3Lab();
  await using vault = await startVaultProcesses(stack, { settings: lab.settings });
  await using files = await startVaultProcesses(stack);
  await using receiver = startChild<Collection, number>('test/bench/download/receiver.ts');
  await using server = startChild<PipeSource, number>('test/bench/download/pipe-server.ts');

  const fromS3 = await storeFile(vault);
  const fromFiles = await storeFile(files);
  const pipe = await openPipe(server, lab, fromS3.storagePath);
  const ms = { ours: [], pipe: [], files: [] } as Record<'ours' | 'pipe' | 'files', number[]>;
  for (let turn = 0; turn <= rounds; turn++) {
    const ours = await receiver.ask(fromS3.collection);
    const bare = await receiver.ask(pipe);
    const filesystem = await receiver.ask(fromFiles.collection);
    progress(`round ${turn}: ours ${speed(ours)} MB/s, bare pipe ${speed(bare)} MB/s`);
    // The first round warms up.
    if (turn === 0) continue;
    ms.ours.push(ours);
    ms.pipe.push(bare);
    ms.files.push(filesystem);
  }

  const ours = speed(median(ms.ours));
  const reference = speed(median(ms.pipe));
  return {
    ours,
    reference,
    unit: 'MB/s',
    ratio: round(ours / reference),
    filesystemMBps: speed(median(ms.files)),
    fileMiB: fileBytes / 2 ** 20,
    rounds,
  };
};

/** Returns the megabytes a second of one round. */
function speed(ms: number): number {
  return round((fileBytes * perRound.times) / 1_000 / ms, 1);
}

async function storeFile(vault: VaultProcesses) {
  const account = await createAccount(vault);
  const { session } = await logIn(vault, account);
  const { documentId, storagePath } = await storeParts(session, shape);
  const accessToken = await createRepeatedLogin(vault.baseUrl, account)();
  const collection: Collection = {
    ...perRound,
    url: `${vault.baseUrl}/v1/documents/${documentId}/download`,
    headers: { authorization: `Bearer ${accessToken}` },
  };
  return { storagePath, collection };
}

async function openPipe(
  server: { ask(source: PipeSource): Promise<number> },
  { config }: S3Lab,
  storagePath: string,
): Promise<Collection> {
  const port = await server.ask({ ...config, url: `${config.endpoint}/${config.bucket}` });
  return { ...perRound, url: `http://127.0.0.1:${port}/${storagePath}`, headers: {} };
}
