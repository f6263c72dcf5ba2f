import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';
import { unzipSync } from 'fflate';
import type { Answer, Api } from '../documents/uploads.ts';
import { until } from '../../../app/dev/processes/until.ts';
import type { Vault } from '../vault/vault.ts';

const run = promisify(execFile);

/** The result of a job that exported evidence. */
export interface ExportResult {
  readonly documentId: string;
  readonly through: number;
  readonly proofId: string;
  readonly manifestHash: string;
  readonly downloadPath: string;
  readonly size: number;
  readonly hash: string;
  readonly expiresAt: string;
}

/** Submits an export and returns the job's id. Throws unless it is accepted. */
export async function submitExport(api: Api, payload: object): Promise<string> {
  const json = { type: 'EVIDENCE_EXPORT', payload };
  const { status, body } = await api.send('POST', '/v1/jobs', { json });
  if (status !== 202) throw new Error(`the job was refused: ${status} ${JSON.stringify(body)}`);
  return String(body['jobId']);
}

/** Resolves with a job once it is over. */
export function untilOver(api: Api, jobId: string): Promise<Answer['body']> {
  const look = async () => {
    const { body } = await api.send('GET', `/v1/jobs/${jobId}`);
    return body['completedAt'] !== null || body['failedAt'] !== null ? body : undefined;
  };
  return until(look, { what: 'the job to be over', timeoutMs: 60_000 });
}

/** Exports the evidence of a document. Throws unless the job is completed. */
export async function exportDocument(api: Api, payload: object): Promise<ExportResult> {
  const job = await untilOver(api, await submitExport(api, payload));
  if (job['status'] !== 'COMPLETED') throw new Error(`the job failed: ${String(job['error'])}`);
  return job['result'] as ExportResult;
}

/** Downloads a file of the vault with a token. */
export async function download(vault: Vault, api: Api, from: string): Promise<Buffer> {
  const headers = { authorization: `Bearer ${api.token}` };
  const response = await fetch(vault.baseUrl + from, { headers });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return Buffer.from(await response.arrayBuffer());
}

export type Files = ReadonlyMap<string, Buffer>;

/** Returns the files of an archive by their paths in its folder. */
export function unpack(archive: Buffer): Files {
  const files = Object.entries(unzipSync(archive));
  return new Map(
    files.map(([name, bytes]) => [name.slice(name.indexOf('/') + 1), Buffer.from(bytes)]),
  );
}

/** Writes files into a folder of their own, which the end of the test removes. */
export async function writeFolder(t: ExecutionContext, files: Files): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'probatio-export-'));
  t.teardown(() => rm(folder, { recursive: true }));
  for (const [name, bytes] of files) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), bytes);
  }
  return folder;
}

/** Runs the script of a folder, with nothing but what POSIX and OpenSSL give. */
export async function runScript(folder: string, ...fingerprints: readonly string[]) {
  try {
    const { stdout } = await run('sh', [path.join(folder, 'verify.sh'), ...fingerprints]);
    return { status: 0, text: stdout };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { status: code, text: stdout + stderr };
  }
}
