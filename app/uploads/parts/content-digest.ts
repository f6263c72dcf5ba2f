import { AppError } from '../../errors/app-error.ts';

/**
 * The sha-256 of a Content-Digest header (RFC 9530), base64; undefined when the header is absent or
 * names only other algorithms. Throws digest_mismatch when it cannot be read.
 */
export function parseContentDigest(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const members = String(header)
    .split(',')
    .map((member) => /^\s*([a-z0-9-]+)=:([A-Za-z0-9+/]+={0,2}):\s*$/.exec(member));
  if (members.some((member) => member === null)) throw new AppError('digest_mismatch');
  // The last one counts where there are several (RFC 9651 §4.2.2).
  const digest = members.findLast((member) => member?.[1] === 'sha-256')?.[2];
  if (digest !== undefined && Buffer.from(digest, 'base64').length !== 32) {
    throw new AppError('digest_mismatch');
  }
  return digest;
}
