import { peakMemoryBytes } from '../../support/processes/process-figures.ts';
import { createRepeatedLogin } from '../../faults/vault/login.ts';
import { startS3Lab, type S3Lab } from '../../support/processes/s3-lab.ts';
import { createAccount, logIn } from '../../faults/vault/user.ts';
import {
  startVaultProcesses,
  type VaultProcesses,
} from '../../support/processes/vault-processes.ts';
import { median, round, type Bench } from '../harness/bench.ts';
import { startBenchStack } from '../harness/bench-stack.ts';
import { startChild } from '../../support/processes/child.ts';
import { partBytes } from './part-bytes.ts';
import type { PipeTarget } from './pipe-server.ts';
import { withMultipart } from './s3-multipart.ts';
import type { SdkShipment } from './sdk-sender.ts';
import type { Shipment } from './sender.ts';
import { finishUpload, sendToVault, type Sender, type VaultTarget } from './vault-upload.ts';

const rounds = 9;
const shape = { parts: 16, concurrency: 4 };
const fileBytes = shape.parts * partBytes;

/**
 * Measures MB/s of sending parts through the API into S3, against a bare Node proxy that hashes.
 * Also measures the filesystem store, the AWS SDK without a server in between, and tus-node-server.
 */
export const benchUpload: Bench = async (progress) => {
  await using stack = await startBenchStack();
  await using lab = await startS3Lab();
  await using vault = await startVaultProcesses(stack, { settings: lab.settings });
  await using files = await startVaultProcesses(stack);
  await using sender: Sender = startChild<Shipment, number>('test/bench/upload/sender.ts');
  await using pipe = await startPipe(sender, lab);
  await using tus = await startTus(sender, lab);
  await using sdk = startSdk(lab);
  const onS3 = await openTarget(vault);
  const onFiles = await openTarget(files);

  const ms = { ours: [], pipe: [], sdk: [], tus: [], files: [], complete: [], hash: [] } as Record<
    'ours' | 'pipe' | 'sdk' | 'tus' | 'files' | 'complete' | 'hash',
    number[]
  >;
  for (let turn = 0; turn <= rounds; turn++) {
    const upload = await sendToVault(sender, onS3, shape);
    const pipeMs = await pipe.send();
    progress(`round ${turn}: ours ${speed(upload.ms)} MB/s, bare pipe ${speed(pipeMs)} MB/s`);
    // The first round warms up; every third one also measures the figures that are reported
    // separately.
    if (turn > 0) {
      ms.ours.push(upload.ms);
      ms.pipe.push(pipeMs);
    }
    if (turn % 3 !== 1) {
      await onS3.session.uploads.abort(upload.sessionId);
      continue;
    }
    const { completeMs, hashMs } = await finishUpload(onS3, upload.sessionId);
    ms.complete.push(completeMs);
    ms.hash.push(hashMs);
    const stored = await sendToVault(sender, onFiles, shape);
    await onFiles.session.uploads.abort(stored.sessionId);
    ms.files.push(stored.ms);
    ms.sdk.push(await sdk.send());
    ms.tus.push(await tus.send());
  }

  const ours = speed(median(ms.ours));
  const reference = speed(median(ms.pipe));
  return {
    ours,
    reference,
    unit: 'MB/s',
    ratio: round(ours / reference),
    completeMs: round(median(ms.complete), 0),
    hashMBps: speed(median(ms.hash)),
    withCompleteMBps: speed(median(ms.ours) + median(ms.complete)),
    tusMBps: speed(median(ms.tus)),
    sdkDirectMBps: speed(median(ms.sdk)),
    filesystemMBps: speed(median(ms.files)),
    peakMemoryMiB: round(peakMemoryBytes(vault.app.pid) / 2 ** 20, 0),
    fileMiB: fileBytes / 2 ** 20,
    rounds,
  };
};

/** Returns the megabytes a second for one file. */
function speed(ms: number): number {
  return round(fileBytes / 1_000 / ms, 1);
}

async function openTarget(vault: VaultProcesses): Promise<VaultTarget> {
  const account = await createAccount(vault);
  const { session } = await logIn(vault, account);
  const accessToken = await createRepeatedLogin(vault.baseUrl, account)();
  return { baseUrl: vault.baseUrl, session, accessToken };
}

interface Peer extends AsyncDisposable {
  /** Resolves with the milliseconds for one file. */
  send(): Promise<number>;
}

async function startPipe(sender: Sender, { config }: S3Lab): Promise<Peer> {
  const server = startChild<PipeTarget, number>('test/bench/upload/pipe-server.ts');
  const port = await server.ask({ ...config, url: `${config.endpoint}/${config.bucket}` });
  const send = ({ key, uploadId }: { readonly key: string; readonly uploadId: string }) => {
    const deliveries = Array.from({ length: shape.parts }, (_, index) => ({
      method: 'PUT' as const,
      url:
        `http://127.0.0.1:${port}/${key}?partNumber=${index + 1}` +
        `&uploadId=${encodeURIComponent(uploadId)}`,
      headers: {},
      copies: 1,
    }));
    return sender.ask({ deliveries, concurrency: shape.concurrency });
  };
  return {
    send: () => withMultipart(config, send),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/**
 * Starts tus-node-server. Its protocol sends a file as one stream, and its time includes the
 * completion.
 */
async function startTus(sender: Sender, { config }: S3Lab): Promise<Peer> {
  const server = startChild<S3Lab['config'], number>('test/bench/upload/tus-server.ts');
  const port = await server.ask(config);
  const protocol = { 'tus-resumable': '1.0.0' };
  return {
    async send() {
      const created = await fetch(`http://127.0.0.1:${port}/files`, {
        method: 'POST',
        headers: { ...protocol, 'upload-length': String(fileBytes) },
      });
      const url = created.headers.get('location') ?? '';
      const type = { 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' };
      const delivery = { method: 'PATCH' as const, url, headers: { ...protocol, ...type } };
      return sender.ask({
        deliveries: [{ ...delivery, copies: shape.parts }],
        concurrency: 1,
      });
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function startSdk({ config }: S3Lab): Peer {
  const child = startChild<SdkShipment, number>('test/bench/upload/sdk-sender.ts');
  return {
    send: () => withMultipart(config, (upload) => child.ask({ config, ...upload, ...shape })),
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}
