import type { z } from 'zod';
import { lockAccount } from '../accounts/credential-rows.ts';
import type { Clock } from '../async/clock.ts';
import type { Act, Acted } from '../audit-trail/act.ts';
import type { Database, Tx } from '../db/database.ts';
import type { RowCipher } from '../encryption/row-cipher.ts';
import { AppError } from '../errors/app-error.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import { cutPage } from '../http/responses/page.ts';
import type { FreshProof } from '../sessions/fresh-proof.ts';
import { fingerprintOf } from '../identities/public-identity.ts';
import { restoreEnvelope, restoreSharingKey } from './restoration.ts';
import { expiryOf, replacedColumns, selectKept, type ReplacedRow } from './rows/replaced-keys.ts';
import type { ReplacedKey, ReplacedPage, RestoredKey } from './schema.ts';

type View = z.input<typeof ReplacedKey>;
type Restored = z.input<typeof RestoredKey>;

interface Page {
  readonly keys: View[];
  /** The last id on this page; undefined if no further page exists. */
  readonly cursor: string | undefined;
}

interface ReplacedKeysOptions {
  /** The vault's own name as an issuer. */
  readonly issuer: string;
  readonly db: Database;
  readonly cipher: RowCipher;
  readonly act: Act;
  readonly clock: Clock;
}

export type ReplacedKeys = ReturnType<typeof createReplacedKeys>;

/** Creates the service that lists and restores envelopes and sharing keys that were replaced. */
export function createReplacedKeys({ issuer, db, cipher, act, clock }: ReplacedKeysOptions) {
  async function restore(
    tx: Tx,
    { caller }: ServiceRequest,
    { id, proof }: { readonly id: string; readonly proof: FreshProof },
  ): Promise<Acted<Restored>> {
    const now = clock();
    const replaced = await selectKept(tx, caller, now)
      .select(replacedColumns)
      .where('id', '=', id)
      .executeTakeFirst();
    if (replaced === undefined) throw new AppError('not_found');
    await proof.assertGiven(tx);
    if (replaced.kind === 'SHARING') return restoreSharingKey(tx, caller, replaced, now);
    // The credential of recovery logins is restored too; users of other issuers have none.
    const hasCredential = replaced.kind === 'RECOVERY' && caller.issuer === issuer;
    if (hasCredential) await lockAccount(tx, caller);
    return restoreEnvelope(tx, cipher, caller, { ...replaced, hasCredential }, now);
  }

  return {
    /** Lists the keys of the caller that were replaced in the last 30 days, newest first. */
    list: (
      { caller }: ServiceRequest,
      { limit, cursor }: z.output<typeof ReplacedPage>,
    ): Promise<Page> =>
      db.asUser(caller, async (tx) => {
        let query = selectKept(tx, caller, clock())
          .select(['id', 'kind', 'version', 'public_key', 'signing_key', 'replaced_at'])
          .orderBy('id', 'desc')
          .limit(limit + 1);
        if (cursor !== undefined) query = query.where('id', '<', cursor);
        const page = cutPage(await query.execute(), { limit, cursorOf: (row) => row.id });
        return { keys: page.rows.map(toView), cursor: page.cursor };
      }),

    /**
     * Puts a replaced key in force again, as the next version of the present key, which is kept in
     * its place. Throws not_found, and as `FreshProof.assertGiven` does: a stolen access token must
     * not bring back what its user replaced.
     */
    restore: (request: ServiceRequest, id: string, proof: FreshProof): Promise<Restored> =>
      // Only the service login can read and write credentials.
      act.asService(request, (tx) => restore(tx, request, { id, proof })),
  };
}

type Listed = Pick<
  ReplacedRow,
  'id' | 'kind' | 'version' | 'public_key' | 'signing_key' | 'replaced_at'
>;

function toView({ id, kind, version, replaced_at: replacedAt, ...keys }: Listed): View {
  const { public_key: publicKey, signing_key: signingKey } = keys;
  const isIdentity = publicKey !== null && signingKey !== null;
  const fingerprint = isIdentity ? fingerprintOf({ publicKey, signingKey }) : null;
  return { id, kind, version, fingerprint, replacedAt, expiresAt: expiryOf(replacedAt) };
}
