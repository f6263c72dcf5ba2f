import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '../../errors/app-error.ts';
import type { AddressLimit } from '../../limits/rate-limits.ts';
import {
  isRecovery,
  mayAccess,
  type Access,
  type Caller,
  type Identified,
  type InternalCaller,
  type TokenAccess,
} from '../requests/caller.ts';
import { explainToken, missingToken } from './token-problem.ts';

/** The checks that identify and admit the caller of a request. */
export interface Guards {
  /**
   * Returns the user of an access token. Throws invalid_token, token_expired, invalid_issuer or a
   * similar code.
   */
  authenticate(token: string): Promise<Identified>;
  /**
   * Checks the caller's reauthentication token. Throws reauth_required, reauth_expired or
   * reauth_invalid.
   */
  verifyReauth(token: string | undefined, caller: Caller): Promise<void>;
  /** Throws rate_limited if the client address has used up the limit. Counts nothing. */
  assertAddressMay(limit: AddressLimit, clientAddress: string): Promise<void>;
  /**
   * Returns the holder of an internal API key. Throws invalid_api_key, or access_denied for a key
   * without the admin right. If absent, the listener accepts no internal API keys.
   */
  readonly admitInternal?: (key: string | undefined) => Promise<InternalCaller>;
  /**
   * The caller of requests without a token on routes with `orDeveloper`. If absent, these routes
   * require a token too.
   */
  readonly developer?: () => Caller;
}

/** Returns the caller of a request; undefined on public routes. Throws if access is denied. */
export async function admit(
  headers: IncomingHttpHeaders,
  access: Access,
  guards: Guards,
): Promise<Caller | InternalCaller | undefined> {
  if (access === 'public') return undefined;
  const { admitInternal } = guards;
  const key = headers['x-internal-api-key']?.toString();
  const takesKey = access === 'internal' || (access.orInternal === true && key !== undefined);
  if (takesKey && admitInternal !== undefined) return admitInternal(key);
  if (access === 'internal') throw new AppError('not_found');
  const isAnonymous = access.orDeveloper === true && headers.authorization === undefined;
  if (isAnonymous && guards.developer !== undefined) return guards.developer();
  return admitToken(headers, access, guards);
}

async function admitToken(
  headers: IncomingHttpHeaders,
  access: TokenAccess,
  guards: Guards,
): Promise<Caller> {
  const token = /^Bearer ([\w.~+/=-]+)$/i.exec(headers.authorization ?? '')?.[1];
  if (token === undefined) throw missingToken(headers.authorization);
  const identified = await guards.authenticate(token).catch((error: unknown) => {
    throw explainToken(token, error);
  });
  if (!mayAccess(identified, access)) throw new AppError('access_denied');
  const { tenantId } = identified;
  if (tenantId === undefined) throw new AppError(access.withoutTenant ?? 'invalid_token');
  const caller = { ...identified, tenantId };
  const isProven = access.orRecovery === true && isRecovery(caller);
  if (access.reauth === true && !isProven) {
    await guards.verifyReauth(headers['x-reauth-token']?.toString(), caller);
  }
  return caller;
}
