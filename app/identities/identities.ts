import type { z } from 'zod';
import type { Clock } from '../async/clock.ts';
import type { Database, Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { Caller } from '../http/requests/caller.ts';
import { assertIfMatch, type IfMatch } from '../http/responses/precondition.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import type { Act } from '../audit-trail/act.ts';
import type { FreshProof } from '../sessions/fresh-proof.ts';
import { randomSigningKey } from './decoy-identity.ts';
import {
  identityChanged,
  insertIdentity,
  lockIdentity,
  publicIdentityOf,
  replaceIdentity,
  selectIdentity,
  type SharingKeyRow,
  type StoredIdentity,
} from './identity-rows.ts';
import { assertProven, type IdentitySignatures } from './identity-signatures.ts';
import type { PublicIdentity } from './public-identity.ts';
import type { SharingKeyChange, SharingKeyView } from './schema.ts';

type Change = z.output<typeof SharingKeyChange>;
type View = z.input<typeof SharingKeyView>;

/** The conditions under which an identity is replaced. */
interface Conditions {
  readonly ifMatch: IfMatch | undefined;
  readonly proof: FreshProof;
}

/** An identity and the one that it replaces, if any. */
interface Replacement {
  readonly identity: StoredIdentity;
  readonly previous: PublicIdentity | undefined;
}

interface IdentitiesOptions {
  /** The vault's own name as an issuer. */
  readonly issuer: string;
  readonly db: Database;
  readonly act: Act;
  readonly clock: Clock;
}

export type Identities = ReturnType<typeof createIdentities>;

/**
 * Creates the service that stores the identities of users: the keys for which documents are shared,
 * and those with which users sign.
 */
export function createIdentities({ issuer, db, act, clock }: IdentitiesOptions) {
  async function store(tx: Tx, caller: Caller, change: Change, { ifMatch, proof }: Conditions) {
    const present = await lockIdentity(tx, caller);
    const identity = toIdentity(change, present);
    const previous = publicIdentityOf(present);
    if (present === undefined) {
      if (ifMatch !== undefined) throw new AppError('precondition_failed');
      assertOwn(caller, { identity, previous }, change);
      const inserted = await insertIdentity(tx, caller, identity, clock());
      if (inserted === undefined) throw new AppError('precondition_required');
      return { row: inserted, previous };
    }
    await proof.assertGiven(tx);
    assertIfMatch(ifMatch, present.version);
    assertOwn(caller, { identity, previous }, change);
    return { row: await replaceIdentity(tx, present, identity, clock()), previous };
  }

  /** Throws identity_unproven, unless nobody can sign by the identity. */
  function assertOwn(
    { userId: owner }: Caller,
    { identity, previous }: Replacement,
    signatures: IdentitySignatures,
  ): void {
    if (identity.wrappedSigningKey === null) return;
    assertProven({ issuer, owner, identity, previous }, signatures);
  }

  return {
    /**
     * Stores the caller's first identity, or replaces the present one if its version matches
     * `ifMatch`, and keeps the former for 30 days. To read documents that were shared under an
     * earlier public key, clients need the matching earlier private key. Throws validation_failed,
     * identity_unproven, precondition_required, precondition_failed or quota_exceeded, and for a
     * replacement as `FreshProof.assertGiven` does.
     */
    put: (request: ServiceRequest, change: Change, conditions: Conditions): Promise<View> =>
      act(request, async (tx) => {
        const { caller } = request;
        const { row, previous } = await store(tx, caller, change, conditions);
        const { endorsement } = change;
        return { answer: toView(row), events: [identityChanged(row, { previous, endorsement })] };
      }),

    /** Returns the caller's identity. Throws not_found. */
    get: ({ caller }: ServiceRequest): Promise<View> =>
      db.asUser(caller, async (tx) => {
        const row = await selectIdentity(tx, caller).executeTakeFirst();
        if (row === undefined) throw new AppError('not_found');
        return toView(row);
      }),
  };
}

/**
 * Returns the identity that a request stores. A request without a signing key keeps the present
 * one. Throws validation_failed for half a signing key.
 */
function toIdentity(
  { publicKey, wrappedPrivateKey, ...signing }: Change,
  present: SharingKeyRow | undefined,
): StoredIdentity {
  const { signingKey, wrappedSigningKey } = signing;
  if ((signingKey === undefined) !== (wrappedSigningKey === undefined)) {
    const message = 'signingKey and wrappedSigningKey are required together';
    throw new AppError('validation_failed', { details: [{ path: 'signingKey', message }] });
  }
  return {
    publicKey,
    wrappedPrivateKey,
    signingKey: signingKey ?? present?.signing_key ?? randomSigningKey(),
    wrappedSigningKey: wrappedSigningKey ?? present?.wrapped_signing_key ?? null,
  };
}

function toView(row: SharingKeyRow): View {
  return {
    publicKey: row.public_key,
    wrappedPrivateKey: row.wrapped_private_key,
    signingKey: row.signing_key,
    wrappedSigningKey: row.wrapped_signing_key,
    version: row.version,
    createdAt: row.created_at,
  };
}
