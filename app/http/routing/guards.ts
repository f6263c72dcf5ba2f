import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '../../errors/app-error.ts';
import {
  isRecovery,
  mayAccess,
  type Access,
  type Caller,
  type Identified,
  type InternalCaller,
  type TokenAccess,
} from '../requests/caller.ts';

/** What tells who calls. */
export interface Guards {
  /** Throws invalid_token, token_expired, invalid_issuer and their like. */
  authenticate(token: string): Promise<Identified>;
  /** Throws reauth_required, reauth_expired or reauth_invalid. */
  verifyReauth(token: string | undefined, caller: Caller): Promise<void>;
  /**
   * Throws invalid_api_key, or access_denied for a key without the admin right. Left out, the
   * listener takes no internal keys.
   */
  readonly admitInternal?: (key: string | undefined) => Promise<InternalCaller>;
  /** Who callers without a token are, on routes that allow it. Left out, nobody. */
  readonly developer?: Caller;
}

/** Who is calling, as `access` asks; undefined on public routes. Throws where it is not granted. */
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
  if (isAnonymous && guards.developer !== undefined) return guards.developer;
  return admitToken(headers, access, guards);
}

async function admitToken(
  headers: IncomingHttpHeaders,
  access: TokenAccess,
  guards: Guards,
): Promise<Caller> {
  const token = /^Bearer ([\w.~+/=-]+)$/i.exec(headers.authorization ?? '')?.[1];
  if (token === undefined) throw new AppError('invalid_token');
  const identified = await guards.authenticate(token);
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
