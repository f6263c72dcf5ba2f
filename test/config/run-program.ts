import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { projectFile } from '../../app/dev/files/project.ts';
import { compileCache } from '../support/processes/compile-cache.ts';

/** A way to end a program with a code. */
export interface Run {
  readonly file: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Text of its output, after which it gets SIGTERM. */
  readonly stopAfter?: RegExp;
}

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program with these variables alone, until it ends. */
export async function run({ file, args = [], env = {}, stopAfter }: Run): Promise<Outcome> {
  const child = spawn(process.execPath, [projectFile(file), ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...compileCache(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
    // A second signal would end it at once.
    if (stopAfter?.test(stdout) === true && !child.killed) child.kill('SIGTERM');
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}

/** An app whose backends are away, which starts all the same. */
export const idleApp = {
  NODE_ENV: 'test',
  PORT: '0',
  DATABASE_URL: 'postgresql://app@127.0.0.1:1/vault',
  DATABASE_SERVICE_URL: 'postgresql://service@127.0.0.1:1/vault',
  REDIS_URL: 'redis://127.0.0.1:1',
  SIGNER_SOCKET_PATH: '/nowhere/signer.sock',
  STORAGE_DIRECTORY: '/nowhere',
  MAIL_DIRECTORY: '/nowhere',
};

/** A signer without a token. */
export const idleSigner = {
  SIGNER_LIBRARY: projectFile('package.json'),
  SIGNER_TOKEN_LABEL: 'none',
  SIGNER_ISSUERS: 'https://vault.test',
  SIGNER_PIN: '1234-5678',
};
