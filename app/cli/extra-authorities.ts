import { readFileSync } from 'node:fs';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { ConfigError } from '../../signer/protocol/process/config-error.ts';
import { findFileProblem } from '../../signer/protocol/process/named-file.ts';

/**
 * Trusts the certificate authorities of NODE_EXTRA_CA_CERTS, which Node itself reads before
 * `--env-file` sets any variable. Throws ConfigError if the file cannot be used.
 */
export function trustExtraAuthorities({ NODE_EXTRA_CA_CERTS: path = '' }: NodeJS.ProcessEnv): void {
  if (path === '' || getCACertificates('extra').length > 0) return;
  const problem = findFileProblem(path) ?? trust(readFileSync(path, 'utf8'));
  if (problem !== undefined) throw new ConfigError([`NODE_EXTRA_CA_CERTS: ${problem}`]);
}

const unusable = 'names a file without usable certificates; name a PEM file of certificates';

/** Trusts certificates beside those of Node, or returns what is wrong with them. */
function trust(pem: string): string | undefined {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g);
  if (found === null) return unusable;
  try {
    setDefaultCACertificates([...getCACertificates('default'), ...found]);
    return undefined;
  } catch {
    return unusable;
  }
}
