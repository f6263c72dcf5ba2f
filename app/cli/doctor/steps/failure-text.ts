import { classOf, type FailureClass } from '../../../health/failure-class.ts';

/** A dependency, by the words for its failures. */
export interface Dependency {
  /** The name of the dependency at the beginning of a sentence. */
  readonly what: string;
  /** The variable with its address. */
  readonly address: string;
  /** The variables with the credentials. */
  readonly credentials: string;
  /** The part of it that may be missing, such as `bucket`. */
  readonly part: string;
}

/** A code of Postgres, Node or an S3 server; such a code holds no secret. */
const code = /^[A-Z0-9]\w{2,39}$/;

/** Describes a failure of a dependency, with the remedy, in one line without any message. */
export function describeFailure(error: unknown, of: Dependency): string {
  const found = classOf(error);
  return texts[found](of, found === 'unavailable' ? codeOf(error) : '');
}

const texts: Readonly<Record<FailureClass, (of: Dependency, code: string) => string>> = {
  auth: ({ what, credentials }) =>
    `${what} refuses access: correct ${credentials}, or what this login may do`,
  dns: ({ address }) => `the host name in ${address} does not resolve: correct it, or see to DNS`,
  refused: ({ what, address }) =>
    `nothing listens at the address in ${address}: start ${what}, or correct the address`,
  not_found: ({ what, address, part }) =>
    `${what} has no such ${part}: create or mount it, or correct ${address}`,
  timeout: ({ what, address }) =>
    `${what} does not answer in time: see whether it runs and whether ${address} can be reached`,
  full: ({ what }) =>
    `${what} has no room or connection left: free some, raise the limit, or end a read-only mount`,
  tls: ({ what }) =>
    `no trusted TLS connection: renew the certificate of ${what}, or trust its authority`,
  clock_skew: ({ what }) =>
    `${what} refuses requests as its clock and ours differ: set both by NTP`,
  unavailable: ({ what }, found) =>
    `${what} fails${found === '' ? '' : ` with ${found}`}: see its own log`,
};

/** Returns the last code in the chain of causes that may be shown; '' if there is none. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const inner = codeOf(error.cause);
  if (inner !== '') return inner;
  const { code: own, name } = error as { readonly code?: unknown; readonly name: string };
  const shown = typeof own === 'string' ? own : name;
  return code.test(shown) && shown !== 'Error' ? shown : '';
}
