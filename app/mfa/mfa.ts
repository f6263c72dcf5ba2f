import { randomBytes, randomUUID } from 'node:crypto';
import { encodeQR } from 'qr';
import type { z } from 'zod';
import type { SignerClient } from '../../signer/protocol/client.ts';
import type { Clock } from '../async/clock.ts';
import { backlogChecked, type Act } from '../audit-trail/act.ts';
import type { AuditAction, RequestEvent } from '../audit-trail/event.ts';
import type { Database, Tx } from '../db/database.ts';
import type { MfaChange } from '../db/tables/auth.ts';
import { AppError } from '../errors/app-error.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import type { SecondFactors } from '../identity-provider/identity-provider.ts';
import type { createCodeCheck } from './code-check.ts';
import { required, type createIdentification, type KnownCaller } from './identification.ts';
import { toBase32, toUri } from './one-time-codes.ts';
import { findPending, putPending, removePending, type Pending } from './rows/pending-rows.ts';
import { makeRecoveryCodes, showRecoveryCode } from './recovery-codes.ts';
import type { MfaDisabled, MfaEnabled, MfaSetup, MfaStatus, RecoveryCodes } from './schema.ts';
import { findSettlement, storeSettlement } from './settlement.ts';
import { requestMs, type UserLease, type UserLeases } from './user-leases.ts';
import { setMfaUser } from './rows/user-rows.ts';

/** Milliseconds in which a set-up must be confirmed. */
const setupMs = 600_000;
const nonceBytes = 32;

interface MfaOptions {
  readonly db: Database;
  readonly act: Act;
  readonly signer: Pick<SignerClient, 'totpSecret'>;
  readonly identify: ReturnType<typeof createIdentification>;
  readonly leases: UserLeases;
  readonly withCode: ReturnType<typeof createCodeCheck>;
  /** The name of the vault in authenticator apps. */
  readonly issuerLabel: string;
  readonly clock: Clock;
}

/** A user as the provider knows them. */
interface ProviderState {
  /** The provider's id of the user; undefined if the vault must create the user first. */
  readonly subject: string | undefined;
  readonly factors: SecondFactors;
}

/** A request that holds the lease of its caller, and what it found at its start. */
interface Change extends ProviderState {
  readonly request: ServiceRequest;
  readonly known: KnownCaller;
  readonly lease: UserLease;
  readonly pending: Pending | undefined;
}

type MfaAction = Extract<AuditAction, `mfa.${string}`>;
type Recorded = Exclude<MfaAction, 'mfa.failed'>;

export type Mfa = ReturnType<typeof createMfa>;

/**
 * Creates the service with which users manage their second factors at the identity provider. The
 * vault stores no secret. Changes of one user are made one after the other. Each is begun in the
 * database, made at the provider and then recorded; what a process left unrecorded is recorded by
 * the next change of the user, or by maintenance.
 *
 * Every method throws identity_provider_unavailable, also if none is set up, and access_denied for
 * users of other issuers than the vault and the provider. Methods that change something also throw
 * busy, audit_backlog_full, and not_found if the account is closed.
 */
export function createMfa(options: MfaOptions) {
  const { db, act, signer, identify, leases, withCode, issuerLabel, clock } = options;

  /** Stores the end of a change and its entries, unless the lease was lost. */
  function record<T>(
    { request, lease }: Change,
    actions: readonly Recorded[],
    store: (tx: Tx) => Promise<T>,
  ): Promise<T> {
    const work = async (tx: Tx) => {
      await lease.confirm(tx);
      const answer = await store(tx);
      return { answer, events: actions.map((action) => toEvent(request, action)) };
    };
    return act.asService(request, work, backlogChecked);
  }

  /** Records what earlier changes of the user left unrecorded. */
  async function settle(change: Change): Promise<void> {
    const { lease, pending, factors } = change;
    const settlement = findSettlement(lease.user, pending, factors);
    if (!settlement.endsSetup && !settlement.endsChange) return;
    await record(change, settlement.actions, (tx) => storeSettlement(tx, lease.user, settlement));
  }

  /** States that a change begins, so that it is recorded even if this process dies. */
  async function begin({ lease }: Change, change: MfaChange, codesId?: string): Promise<void> {
    await db.asService(async (tx) => {
      await lease.confirm(tx);
      await setMfaUser(tx, lease.user, { change, codes_id: codesId ?? null });
    });
  }

  /** Performs `work` with the lease of the caller. */
  async function change<T>(
    request: ServiceRequest,
    work: (change: Change) => Promise<T>,
  ): Promise<T> {
    const known = identify(request.caller);
    act.assertWritable(request);
    const { userId } = request.caller;
    return leases.hold(
      userId,
      (tx) => known.takeLease(tx),
      async (lease) => {
        const pending = await db.asService((tx) => findPending(tx, userId));
        const subject = lease.user.subject ?? undefined;
        const state = await readState(known, subject, lease.deadline);
        return work({ request, known, lease, pending, ...state });
      },
    );
  }

  /**
   * Creates the caller's user at the provider if there is none: at the first set-up, or because the
   * provider has lost the user.
   */
  async function withUser(changing: Change): Promise<Change> {
    const { known, lease, subject } = changing;
    if (subject !== undefined) return changing;
    const { user, deadline } = lease;
    const created = await lease.write(() => known.provider.createUser(user.userId, deadline));
    await db.asService(async (tx) => {
      await lease.confirm(tx);
      await setMfaUser(tx, user, { subject: created });
    });
    // After a restore of the database, the user may exist with its second factors.
    return { ...changing, ...(await readState(known, created, deadline)) };
  }

  async function start(
    changing: Change,
    { qr }: { readonly qr?: 'svg' | undefined },
  ): Promise<z.input<typeof MfaSetup>> {
    const { known, lease, request } = changing;
    await settle(changing);
    const { factors } = await withUser(changing);
    if (factors.totps.length > 0) throw new AppError('mfa_already_enabled');
    const account = await known.findName(lease.deadline);
    const nonce = randomBytes(nonceBytes).toString('hex');
    const { userId } = request.caller;
    const { generation, secret } = await signer.totpSecret({ user: userId, nonce });
    try {
      const expiresAt = new Date(clock().getTime() + setupMs);
      const pending = { nonce, keyGeneration: generation, credentialId: randomUUID(), expiresAt };
      await record(changing, ['mfa.started'], (tx) => putPending(tx, userId, pending));
      const uri = toUri(secret, { issuer: issuerLabel, account });
      const drawn = qr === undefined ? {} : { qrCodeSvg: encodeQR(uri, 'svg') };
      return { secret: toBase32(secret), qrCodeUri: uri, ...drawn, expiresAt };
    } finally {
      secret.fill(0);
    }
  }

  async function confirm(begun: Change, code: string): Promise<z.input<typeof MfaEnabled>> {
    const changing = begun.pending === undefined ? begun : await withUser(begun);
    const pending = await loadPending(changing);
    const { request, known, lease, subject } = changing;
    return withCode(request, pending, code, async (secret) => {
      const id = pending.credentialId;
      const codes = makeRecoveryCodes();
      const label = `${issuerLabel} ${id.slice(0, 8)}`;
      await lease.write((deadline) =>
        known.provider.putFactors(
          required(subject),
          { totp: { id, label, secret }, recoveryCodes: { id: randomUUID(), codes } },
          deadline,
        ),
      );
      await record(changing, ['mfa.enabled'], (tx) => removePending(tx, request.caller.userId));
      return { enabled: true, recoveryCodes: codes.map(showRecoveryCode) };
    });
  }

  /**
   * Returns the set-up that a code may confirm. Its TOTP may have been written already, by a
   * request that could not tell so: the next code then writes it again, with new recovery codes.
   */
  async function loadPending(changing: Change): Promise<Pending> {
    const { pending, factors } = changing;
    const isEnabled = factors.totps.length > 0;
    if (pending === undefined) {
      throw new AppError(isEnabled ? 'mfa_already_enabled' : 'mfa_not_pending');
    }
    const isWritten = factors.totps.some(({ id }) => id === pending.credentialId);
    const isExpired = pending.expiresAt <= clock();
    if (!isExpired && isWritten === isEnabled) return pending;
    await settle(changing);
    throw new AppError(isEnabled ? 'mfa_already_enabled' : 'mfa_expired');
  }

  /** Removes the recovery codes first, so that MFA stays enabled until all of it is gone. */
  async function removeAll({ known, lease, subject, factors }: Change): Promise<void> {
    for (const { id } of [...factors.recoveryCodes, ...factors.totps]) {
      await lease.write((deadline) => known.provider.removeFactor(required(subject), id, deadline));
    }
  }

  async function end(changing: Change): Promise<z.input<typeof MfaDisabled>> {
    await settle(changing);
    const { totps } = changing.factors;
    if (totps.length > 0) await begin(changing, 'disable');
    await removeAll(changing);
    if (totps.length > 0) {
      const { user } = changing.lease;
      await record(changing, ['mfa.disabled'], (tx) => setMfaUser(tx, user, unchanged));
    }
    return { enabled: false };
  }

  async function replaceCodes(changing: Change): Promise<z.input<typeof RecoveryCodes>> {
    await settle(changing);
    const { known, lease, subject, factors } = changing;
    if (factors.totps.length === 0) throw new AppError('mfa_not_enabled');
    const codes = makeRecoveryCodes();
    const id = randomUUID();
    await begin(changing, 'regenerate', id);
    await lease.write((deadline) =>
      known.provider.putFactors(required(subject), { recoveryCodes: { id, codes } }, deadline),
    );
    await record(changing, ['mfa.codes_regenerated'], (tx) =>
      setMfaUser(tx, lease.user, unchanged),
    );
    return { recoveryCodes: codes.map(showRecoveryCode) };
  }

  return {
    /** Returns whether the identity provider asks the caller for one-time codes. */
    async status({ caller }: ServiceRequest): Promise<z.input<typeof MfaStatus>> {
      const known = identify(caller);
      const subject = await known.findSubject();
      const { factors } = await readState(known, subject, AbortSignal.timeout(requestMs));
      return toStatus(factors);
    },

    /**
     * Begins a set-up, in place of one that was begun before. Returns its secret, which is not in
     * use until `confirm`. Throws mfa_already_enabled or SignerUnavailable.
     */
    start: (request: ServiceRequest, query: { readonly qr?: 'svg' | undefined }) =>
      change(request, (changing) => start(changing, query)),

    /**
     * Enables MFA with the first code of the set-up, and returns the recovery codes. Throws
     * mfa_already_enabled, mfa_not_pending, mfa_expired, invalid_code, rate_limited or
     * SignerUnavailable.
     */
    confirm: (request: ServiceRequest, { code }: { readonly code: string }) =>
      change(request, (changing) => confirm(changing, code)),

    /** Removes all second factors. Has no effect if MFA is not enabled. */
    disable: (request: ServiceRequest) => change(request, end),

    /** Replaces the recovery codes and returns the new ones. Throws mfa_not_enabled. */
    regenerate: (request: ServiceRequest) => change(request, replaceCodes),
  };
}

const unchanged = { change: null, codes_id: null } as const;

function toEvent({ caller }: ServiceRequest, action: Recorded): RequestEvent<Recorded> {
  return { action, resource: { type: 'account', id: caller.userId }, data: {} };
}

/** Reads what the provider has of a user. Throws access_denied if it has removed the user. */
async function readState(
  { provider, isProvisioned }: KnownCaller,
  subject: string | undefined,
  deadline: AbortSignal,
): Promise<ProviderState> {
  const found = subject === undefined ? undefined : await provider.findFactors(subject, deadline);
  if (found !== undefined) return { subject, factors: found };
  if (!isProvisioned) throw new AppError('access_denied');
  return { subject: undefined, factors: { totps: [], recoveryCodes: [] } };
}

function toStatus({ totps, recoveryCodes }: SecondFactors): z.input<typeof MfaStatus> {
  const [first] = totps.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
  if (first === undefined) return { enabled: false, method: 'totp', configuredAt: null };
  return {
    enabled: true,
    method: 'totp',
    configuredAt: first.createdAt,
    recoveryCodesRemaining: recoveryCodes.reduce((sum, { remaining }) => sum + remaining, 0),
  };
}
