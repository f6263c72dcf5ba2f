/**
 * Returns how Postgres refused a login for good, with the remedy, as the end of a sentence. Returns
 * undefined for any other error, such as that of a database that is away.
 */
export function refusalOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code = '' } = error as { code?: string };
  const hasNoTls = error.message === 'The server does not support SSL connections';
  return hasNoTls ? withoutTls : (refusals.get(code) ?? refusalOf(error.cause));
}

const withoutTls =
  'has an sslmode, but the server has no TLS: set it up there, or remove sslmode from the URL';
const unknownAuthority =
  'names a server whose certificate no trusted authority signed: name its authority in sslrootcert';

const refusals: ReadonlyMap<string, string> = new Map([
  ['28000', 'names a role that may not log in: create the role, or see to pg_hba.conf'],
  ['28P01', 'names a role that Postgres refuses: correct its name or password'],
  ['3D000', 'names a database that does not exist: correct its name, or create it'],
  ['42501', 'names a role that lacks the right to connect: grant connect on the database to it'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', unknownAuthority],
  ['SELF_SIGNED_CERT_IN_CHAIN', unknownAuthority],
  ['UNABLE_TO_GET_ISSUER_CERT', unknownAuthority],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', unknownAuthority],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', unknownAuthority],
  ['CERT_HAS_EXPIRED', 'names a server whose certificate has expired: renew the certificate'],
  [
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'names a server whose certificate is for another host: use the host of the certificate',
  ],
]);
