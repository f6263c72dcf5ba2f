import { z } from 'zod';

/** Of a database on a server, as the driver takes it. What it says of another quotes nothing of it. */
export const PostgresUrl = z
  .url({ protocol: /^postgres(ql)?$/, error: 'is no postgresql:// URL', abort: true })
  .refine((url) => new URL(url).pathname.length > 1, 'names no database')
  .refine(isDecodable, 'has a % that begins no escape');

function isDecodable(url: string): boolean {
  const { username, password, pathname } = new URL(url);
  try {
    for (const part of [username, password, pathname]) decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}
