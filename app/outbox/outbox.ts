import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { afterCommit, type Owner, type Tx } from '../db/database.ts';
import type { Mail } from './mail.ts';

/** The side effects that transactions may promise, by kind. */
export interface OutboxPayloads {
  /** Erased once sent: a validation mail carries a token that is kept nowhere else. */
  email: Mail;
  /** A sign-up whose address nobody has looked up yet. */
  registration: {
    email: string;
    salt: string;
    verifier: string;
    emailHash: string;
    requestId: string;
  };
  /** A closed account, for another look at what is left of it. */
  'account.sweep': Owner;
  'object.delete': { key: string; version: string };
  'multipart.abort': { key: string; uploadId: string };
}

export type OutboxKind = keyof OutboxPayloads;

export interface Outbox {
  /**
   * Promises a side effect in `tx`: it happens at least once after the commit, never without.
   * `userId` names whom it concerns, where it is void once that account is gone.
   */
  add<K extends OutboxKind>(
    tx: Tx,
    kind: K,
    payload: OutboxPayloads[K],
    concerns?: { readonly userId: string },
  ): Promise<void>;
  /** Promises many of a kind in one statement, to be done `notBefore` a moment if one is given. */
  addAll<K extends OutboxKind>(
    tx: Tx,
    kind: K,
    payloads: readonly OutboxPayloads[K][],
    notBefore?: Date,
  ): Promise<void>;
}

export function createOutbox({ onCommitted }: { onCommitted: () => void }): Outbox {
  return {
    async add(tx, kind, payload, concerns) {
      await tx
        .insertInto('outbox')
        .values({
          id: uuidv7(),
          kind,
          payload: JSON.stringify(payload),
          user_id: concerns?.userId ?? null,
        })
        .execute();
      afterCommit(tx, onCommitted);
    },
    async addAll(tx, kind, payloads, notBefore) {
      const ids = payloads.map(() => uuidv7());
      const texts = payloads.map((payload) => JSON.stringify(payload));
      await sql`
        insert into outbox (id, kind, payload, available_at)
        select id, ${kind}, payload, coalesce(${notBefore ?? null}::timestamptz, now())
        from unnest(${ids}::uuid[], ${texts}::text[]) as promised (id, payload)`.execute(tx);
      afterCommit(tx, onCommitted);
    },
  };
}
