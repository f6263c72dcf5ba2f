import { lockActiveById } from '../accounts/lock-active.ts';
import type { Database, Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { Caller } from '../http/requests/caller.ts';
import type { IdentityProvider } from '../identity-provider/identity-provider.ts';
import { findSubject } from '../tokens/external-issuers/identities.ts';
import { findMfaUser, takeLease, type Held, type MfaUserRow } from './rows/user-rows.ts';

interface IdentificationOptions {
  /** The vault's own name as an issuer. */
  readonly issuer: string;
  readonly provider: IdentityProvider | undefined;
  readonly db: Database;
}

/** A caller whose second factors the identity provider keeps. */
export interface KnownCaller {
  readonly provider: IdentityProvider;
  /** Whether the vault creates the caller's user at the provider, if it is missing. */
  readonly isProvisioned: boolean;
  /** Finds the provider's id of the caller; undefined if the caller has no user there. */
  findSubject(): Promise<string | undefined>;
  /** Finds the name under which an authenticator lists the caller. */
  findName(deadline: AbortSignal): Promise<string>;
  /** Takes the lease of the caller. Throws not_found if the account was closed. */
  takeLease(tx: Tx): Promise<MfaUserRow | Held>;
}

/**
 * Creates the function that says who a caller is at the identity provider. Callers with a token of
 * the provider are its user `sub`. An account of the vault has a user there that the vault creates.
 */
export function createIdentification({ issuer, provider, db }: IdentificationOptions) {
  /** Throws identity_provider_unavailable if none is set up, and access_denied for others. */
  return function identify(caller: Caller): KnownCaller {
    if (provider === undefined) throw new AppError('identity_provider_unavailable');
    if (caller.issuer === issuer) return ofVault(caller, provider, db);
    if (caller.issuer === provider.issuer) return ofProvider(caller, provider, db);
    throw new AppError('access_denied');
  };
}

function ofVault(caller: Caller, provider: IdentityProvider, db: Database): KnownCaller {
  const { userId } = caller;
  return {
    provider,
    isProvisioned: true,
    async findSubject() {
      const user = await db.asService((tx) => findMfaUser(tx, userId));
      return user?.subject ?? undefined;
    },
    findName: () => db.asService((tx) => lockActiveById(tx, userId)),
    async takeLease(tx) {
      await lockActiveById(tx, userId);
      return takeLease(tx, caller, null);
    },
  };
}

function ofProvider(caller: Caller, provider: IdentityProvider, db: Database): KnownCaller {
  const load = async (tx: Tx) => required(await findSubject(tx, caller));
  const subject = () => db.asService(load);
  return {
    provider,
    isProvisioned: false,
    findSubject: subject,
    findName: async (deadline) => required(await provider.findName(await subject(), deadline)),
    takeLease: async (tx) => takeLease(tx, caller, await load(tx)),
  };
}

/** Throws access_denied for a user whom the provider has removed. */
export function required<T>(found: T | undefined): T {
  if (found === undefined) throw new AppError('access_denied');
  return found;
}
