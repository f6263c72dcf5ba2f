/**
 * The classes of failures of a dependency:
 * - `auth`: it refuses the credentials, or what they may do
 * - `dns`: its host name does not resolve
 * - `refused`: nothing listens at its address
 * - `not_found`: its database, bucket, directory or socket does not exist
 * - `timeout`: it does not answer in time
 * - `full`: it has no room or no connection left, or its file system is read-only
 * - `tls`: no trusted connection comes about, as with an expired certificate
 * - `clock_skew`: it refuses requests because its clock and ours differ
 * - `unavailable`: any other failure; the log may have more
 */
export type FailureClass =
  | 'auth'
  | 'dns'
  | 'refused'
  | 'not_found'
  | 'timeout'
  | 'full'
  | 'tls'
  | 'clock_skew'
  | 'unavailable';

/** The errors of one class: codes and names, and HTTP statuses of responses without a code. */
const signs: Readonly<Record<Exclude<FailureClass, 'unavailable'>, readonly (string | number)[]>> =
  {
    full: [
      'storage_full',
      'ENOSPC',
      'EDQUOT',
      'EROFS',
      // Postgres: no disk space, or no connection left.
      '53100',
      '53300',
      507,
    ],
    auth: [
      'EACCES',
      'EPERM',
      'EAUTH',
      // Postgres: refused authorization, wrong password, missing right.
      '28000',
      '28P01',
      '42501',
      'CredentialsProviderError',
      'AccessDenied',
      'InvalidAccessKeyId',
      'SignatureDoesNotMatch',
      // versitygw: an unknown access key, with the status 404.
      'XAdminUserNotFound',
      'ExpiredToken',
      'InvalidToken',
      401,
      403,
    ],
    dns: ['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_NODATA', 'EAI_NONAME', 'EDNS'],
    refused: ['ECONNREFUSED'],
    // Postgres: no such database.
    not_found: ['ENOENT', 'ENOTDIR', '3D000', 'NoSuchBucket', 404],
    // The signer's client; Postgres: cancelled by a time limit; the AWS SDK and Node: signals.
    timeout: ['ETIMEDOUT', 'timeout', '57014', 'TimeoutError', 'AbortError', 408, 504],
    clock_skew: ['RequestTimeTooSkewed'],
    tls: ['ETLS', 'EPROTO', 'CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID', 'HOSTNAME_MISMATCH'],
  };

const classBySign: ReadonlyMap<unknown, FailureClass> = new Map(
  Object.entries(signs).flatMap(([name, ofClass]) =>
    ofClass.map((sign) => [sign, name as FailureClass] as const),
  ),
);

const tlsCode = /^(?:ERR_TLS|ERR_SSL|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_)/;

/** The errors without codes, of Redis, of its client, and of the pool of Postgres. */
const classByMessage: readonly (readonly [RegExp, FailureClass])[] = [
  [/^(?:NOAUTH|WRONGPASS|NOPERM)\b/, 'auth'],
  [/^OOM\b/, 'full'],
  [/^Command timed out$/, 'timeout'],
  [/^timeout exceeded when trying to connect$|due to connection timeout$/, 'timeout'],
];

/**
 * Returns the class of an error of a dependency: that of the first error, in the chain of causes,
 * that shows one. Never repeats a message.
 */
export function classOf(error: unknown): FailureClass {
  for (const { code, originalCode, name, status, message } of factsOf(error)) {
    const found = [code, originalCode, name, status].find((sign) => classBySign.has(sign));
    if (found !== undefined) return classBySign.get(found) ?? 'unavailable';
    if ([code, originalCode].some((sign) => tlsCode.test(String(sign)))) return 'tls';
    const told = classByMessage.find(([pattern]) => pattern.test(message));
    if (told !== undefined) return told[1];
  }
  return 'unavailable';
}

/** The members of an error that may tell its class. */
interface Facts {
  readonly code: unknown;
  /** The code below that of nodemailer. */
  readonly originalCode: unknown;
  readonly name: string;
  /** The HTTP status of a response to the AWS SDK. */
  readonly status: unknown;
  readonly message: string;
}

/** Yields the facts of an error, of the errors that it sums up, and of its causes. */
function* factsOf(error: unknown): Generator<Facts> {
  if (!(error instanceof Error)) return;
  const { name, message, cause } = error;
  const { code, originalCode, $metadata } = error as {
    readonly code?: unknown;
    readonly originalCode?: unknown;
    readonly $metadata?: { readonly httpStatusCode?: unknown };
  };
  yield { code, originalCode, name, status: $metadata?.httpStatusCode, message };
  if (error instanceof AggregateError) {
    for (const one of error.errors) yield* factsOf(one);
  }
  yield* factsOf(cause);
}
