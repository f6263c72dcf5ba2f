import { z } from 'zod';

/** The URL of a database, as the driver accepts it. Its error messages never quote the URL. */
export const PostgresUrl = z
  .url({ protocol: /^postgres(ql)?$/, error: 'is not a postgresql:// URL', abort: true })
  .refine((url) => new URL(url).pathname.length > 1, 'names no database; add its name as the path')
  .refine(isDecodable, 'has a % that begins no valid escape; write it as %25');

function isDecodable(url: string): boolean {
  const { username, password, pathname } = new URL(url);
  try {
    for (const part of [username, password, pathname]) decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}
