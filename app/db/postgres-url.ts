import { z } from 'zod';
import { findFileProblem } from '../../signer/protocol/process/named-file.ts';

/** The parameters that name files. */
const certificates = ['sslcert', 'sslkey', 'sslrootcert'];
/**
 * The parameters that a URL may have. The driver knows more, but some of them would undo what the
 * vault sets on its connections.
 */
const parameters = ['application_name', 'host', 'sslmode', ...certificates];
/** The driver takes `require` and the like for `verify-full`, which libpq does not. */
const tlsModes: readonly string[] = ['verify-full', 'no-verify', 'disable'];

/** The URL of a database, as the driver accepts it. Its error messages never quote the URL. */
export const PostgresUrl = z
  .url({
    protocol: /^postgres(ql)?$/,
    error: 'is not a postgresql:// URL; set it to postgresql://user:password@host:port/database',
    abort: true,
  })
  .refine((url) => new URL(url).pathname.length > 1, 'names no database; add its name as the path')
  .refine(isDecodable, 'has a % that begins no valid escape; write it as %25')
  .refine(
    (url) => [...new URL(url).searchParams.keys()].every((name) => parameters.includes(name)),
    `has a parameter other than ${parameters.join(', ')}; remove it`,
  )
  .refine(
    (url) => tlsModes.includes(parameterOf(url, 'sslmode') ?? 'verify-full'),
    `has another sslmode than ${tlsModes.join(', ')}; set it to one of them`,
  )
  .superRefine((url, context) => {
    for (const name of certificates) {
      const path = parameterOf(url, name);
      const problem = path === undefined ? undefined : findFileProblem(path);
      if (problem === undefined) continue;
      context.addIssue({ code: 'custom', message: `has a parameter ${name} that ${problem}` });
    }
  });

/** Returns the host of a database, or the directory of its Unix socket. */
export function hostOf(url: string): string {
  return parameterOf(url, 'host') ?? decodeURIComponent(new URL(url).hostname);
}

/** Returns the sslmode of a URL; without one, the driver takes PGSSLMODE as `fallback`. */
export function tlsModeOf(
  url: string,
  fallback = 'disable',
): 'verify-full' | 'no-verify' | 'disable' {
  const namesCertificate = certificates.some((name) => parameterOf(url, name) !== undefined);
  const mode = parameterOf(url, 'sslmode') ?? (namesCertificate ? 'verify-full' : fallback);
  return mode === 'disable' || mode === 'no-verify' ? mode : 'verify-full';
}

function parameterOf(url: string, name: string): string | undefined {
  return new URL(url).searchParams.get(name) ?? undefined;
}

function isDecodable(url: string): boolean {
  const { username, password, pathname } = new URL(url);
  try {
    for (const part of [username, password, pathname]) decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}
