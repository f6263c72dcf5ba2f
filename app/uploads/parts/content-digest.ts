import { AppError } from '../../errors/app-error.ts';

/**
 * Returns the sha-256 of a Content-Digest header (RFC 9530) in base64, or undefined if the header
 * is absent or names only other algorithms. Throws digest_mismatch if the header is malformed.
 */
export function parseContentDigest(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const members = String(header)
    .split(',')
    .map((member) => /^\s*([a-z0-9-]+)=:([A-Za-z0-9+/]+={0,2}):\s*$/.exec(member));
  if (members.some((member) => member === null)) throw malformed();
  // If the header has several sha-256 members, the last member counts (RFC 9651 §4.2.2).
  const digest = members.findLast((member) => member?.[1] === 'sha-256')?.[2];
  if (digest !== undefined && Buffer.from(digest, 'base64').length !== 32) {
    throw malformed();
  }
  return digest;
}

/** Returns the member of a Content-Digest header for a SHA-256 in base64. */
export function formatDigest(sha256: string): string {
  return `sha-256=:${sha256}:`;
}

function malformed(): AppError {
  const message = 'must be `sha-256=:<base64 of 32 bytes>:`; another value came';
  return new AppError('digest_mismatch', { details: [{ path: 'Content-Digest', message }] });
}
