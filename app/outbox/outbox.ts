import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { Owner, Tx } from '../db/database.ts';
import { afterCommit } from '../db/transaction.ts';
import type { RowName, Stored } from '../encryption/row-cipher.ts';
import type { StoredMail } from './stored-mail.ts';

/** Payloads of outbox messages by kind. Each is a side effect of a transaction. */
export interface OutboxPayloads {
  /**
   * A mail. The message is erased once sent: the token of a validation mail is kept nowhere else.
   */
  readonly email: StoredMail;
  /** A sign-up whose e-mail address has not been looked up yet. */
  readonly registration: {
    readonly email: string;
    /** The salt and the SRP verifier, encrypted. */
    readonly credential: Stored<'salt' | 'verifier'>;
    readonly emailHash: string;
    readonly requestId: string;
    /** Whether its e-mail is sent; if not, the e-mail address was registered too often. */
    readonly isMailed: boolean;
  };
  /** A closed account, whose user at the identity provider is removed. */
  readonly 'mfa.forget': { readonly userId: string };
  /** A closed account, whose remaining data is removed later. */
  readonly 'account.sweep': Owner;
  readonly 'object.delete': { readonly key: string; readonly version: string };
  readonly 'multipart.abort': { readonly key: string; readonly uploadId: string };
}

export type OutboxKind = keyof OutboxPayloads;

export const outboxKinds = Object.keys({
  email: true,
  registration: true,
  'mfa.forget': true,
  'account.sweep': true,
  'object.delete': true,
  'multipart.abort': true,
} satisfies Record<OutboxKind, true>) as readonly OutboxKind[];

/** Names a message for the cipher that encrypts parts of its payload. */
export function messageRow(id: string): RowName {
  return { table: 'outbox', key: [id] };
}

export interface Outbox {
  /**
   * Adds a side effect to `tx`. It is carried out at least once after the commit, and never if `tx`
   * rolls back. `about.userId` names the user whose purge deletes the message; `about.id` is the id
   * of the message, to which encrypted parts of its payload are bound.
   */
  add<K extends OutboxKind>(
    tx: Tx,
    kind: K,
    payload: OutboxPayloads[K],
    about?: { readonly id?: string; readonly userId?: string },
  ): Promise<void>;
  /**
   * Adds many side effects of a kind in one statement; they are carried out after the time
   * `notBefore`, if given.
   */
  addAll<K extends OutboxKind>(
    tx: Tx,
    kind: K,
    payloads: readonly OutboxPayloads[K][],
    notBefore?: Date,
  ): Promise<void>;
}

export function createOutbox({ onCommitted }: { readonly onCommitted: () => void }): Outbox {
  return {
    async add(tx, kind, payload, { id = uuidv7(), userId } = {}) {
      await tx
        .insertInto('outbox')
        .values({
          id,
          kind,
          payload: JSON.stringify(payload),
          user_id: userId ?? null,
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
