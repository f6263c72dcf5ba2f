import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Certificate {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** A certificate authority that no system trusts by default. */
export interface Authority {
  /** Path of the authority's own certificate as PEM. */
  readonly certFile: string;
  /**
   * Issues a certificate.
   * @param name A subjectAltName, such as `IP:127.0.0.1`.
   */
  issue(name: string): Promise<Certificate>;
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

export async function createAuthority(directory: string): Promise<Authority> {
  const certFile = join(directory, 'ca.pem');
  const keyFile = join(directory, 'ca.key');
  const request = ['req', '-x509', '-days', '1', ...newKey];
  await run('openssl', [...request, '-subj', '/CN=CA', '-keyout', keyFile, '-out', certFile]);
  let issued = 0;
  return {
    certFile,
    async issue(name) {
      const [cert, key] = ['pem', 'key'].map((end) => join(directory, `${issued}.${end}`)) as [
        string,
        string,
      ];
      issued += 1;
      const by = ['-CA', certFile, '-CAkey', keyFile, '-addext', `subjectAltName=${name}`];
      await run('openssl', [...request, ...by, '-subj', '/CN=s3', '-keyout', key, '-out', cert]);
      return { cert: await readFile(cert), key: await readFile(key) };
    },
  };
}
