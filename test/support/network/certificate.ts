import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A private key and a self-signed certificate for 127.0.0.1 and localhost. */
export interface Certificate extends AsyncDisposable {
  readonly key: string;
  readonly cert: string;
  /** Path of a file with the certificate alone, as PEM. */
  readonly file: string;
}

export async function createCertificate(): Promise<Certificate> {
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-certificate-'));
  const [keyFile, file] = [path.join(directory, 'key.pem'), path.join(directory, 'cert.pem')];
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'];
  const names = 'subjectAltName=IP:127.0.0.1,DNS:localhost';
  const subject = ['-subj', '/CN=a test', '-addext', names, '-days', '2'];
  await run('openssl', [...request, '-nodes', '-keyout', keyFile, '-out', file, ...subject]);
  return {
    key: await readFile(keyFile, 'utf8'),
    cert: await readFile(file, 'utf8'),
    file,
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
  };
}
