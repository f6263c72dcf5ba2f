import { v7 as uuidv7 } from 'uuid';
import { afterCommit, type Tx } from '../db/database.ts';

/** The side effects that transactions may promise, by kind. */
export interface OutboxPayloads {
  /** Erased once sent: a validation mail carries a token that is kept nowhere else. */
  email: {
    to: string;
    template: 'validate' | 'already-registered';
    values: Record<string, string>;
  };
  'object.delete': { key: string; version: string };
  'multipart.abort': { key: string; uploadId: string };
}

export type OutboxKind = keyof OutboxPayloads;

export interface Outbox {
  /** Promises a side effect in `tx`: it happens at least once after the commit, never without. */
  add<K extends OutboxKind>(tx: Tx, kind: K, payload: OutboxPayloads[K]): Promise<void>;
}

export function createOutbox({ onCommitted }: { onCommitted: () => void }): Outbox {
  return {
    async add(tx, kind, payload) {
      await tx
        .insertInto('outbox')
        .values({ id: uuidv7(), kind, payload: JSON.stringify(payload) })
        .execute();
      afterCommit(tx, onCommitted);
    },
  };
}
