import { sql, type Selectable } from 'kysely';
import type { Database, Tx } from '../../db/database.ts';
import type { Schema } from '../../db/schema.ts';
import type { Caller } from '../../http/requests/caller.ts';
import type { RegisteredKey } from '../../proof/registered-key.ts';
import type { KeyRegistry } from '../../keys/registry.ts';
import { selectInReach, selectMatches } from '../entries/matches.ts';
import type { AuditProof } from '../../proof/proof.ts';
import { asReader } from '../entries/readers.ts';

/** Why there is no proof of an entry; the codes of the error bodies. */
export interface Absence {
  readonly reason: 'not_found' | 'proof_not_ready' | 'entry_unrecoverable' | 'entry_erased';
  readonly retryAfterSeconds?: number;
}

/** The proof of an entry as it is stored, not verified; or why there is none. */
export type StoredProof = { readonly entryId: string } & (
  | {
      readonly proof: AuditProof;
      /** Undefined where the registry does not know it; the proof's publicKey is empty then. */
      readonly key: RegisteredKey | undefined;
    }
  | { readonly absence: Absence }
);

export interface StoredProofs {
  /** One for each id, in their order; entries the caller may not see are not there. */
  find(caller: Caller, entryIds: readonly string[]): Promise<StoredProof[]>;
  /** Of the newest entries that the caller may see and that are not erased. */
  findNewest(caller: Caller, limit: number): Promise<StoredProof[]>;
}

type Row = Pick<
  Selectable<Schema['audit_entries']>,
  'id' | 'canonical' | 'state' | 'hash' | 'signature' | 'key_id'
>;

const absent = {
  missing: { reason: 'not_found' },
  erased: { reason: 'entry_erased' },
  abandoned: { reason: 'entry_unrecoverable' },
  /** An operator has to look at it. */
  dead: { reason: 'proof_not_ready', retryAfterSeconds: 60 },
  pending: { reason: 'proof_not_ready', retryAfterSeconds: 1 },
} as const satisfies Record<string, Absence>;

interface StoredProofsOptions {
  readonly db: Database;
  readonly registry: KeyRegistry;
}

export function createStoredProofs({ db, registry }: StoredProofsOptions): StoredProofs {
  async function findKeys(rows: readonly Row[]): Promise<Map<string, RegisteredKey>> {
    const keyIds = [...new Set(rows.flatMap(({ key_id: keyId }) => keyId ?? []))];
    const find = () => Promise.all(keyIds.map((keyId) => registry.find(keyId)));
    let keys = await find();
    if (keys.includes(undefined)) {
      // Another process may have registered it a moment ago.
      await registry.refresh();
      keys = await find();
    }
    return new Map(keys.flatMap((key) => (key === undefined ? [] : [[key.keyId, key]])));
  }

  return {
    async find(caller, entryIds) {
      const rows = await asReader(db, caller, (tx) =>
        selectRows(tx)
          .where('id', '=', sql<string>`any(${entryIds}::uuid[])`)
          .execute(),
      );
      const keys = await findKeys(rows);
      const byId = new Map(rows.map((row) => [row.id, row]));
      return entryIds.map((entryId) => toStored(entryId, byId.get(entryId), keys));
    },

    async findNewest(caller, limit) {
      const rows = await asReader(db, caller, (tx) =>
        selectMatches(tx, selectInReach(tx, caller))
          .where('erased_at', 'is', null)
          .limit(limit)
          .execute(),
      );
      const keys = await findKeys(rows);
      return rows.map((row) => toStored(row.id, row, keys));
    },
  };
}

function selectRows(tx: Tx) {
  return tx
    .selectFrom('audit_entries')
    .select(['id', 'canonical', 'state', 'hash', 'signature', 'key_id']);
}

function toStored(
  entryId: string,
  row: Row | undefined,
  keys: ReadonlyMap<string, RegisteredKey>,
): StoredProof {
  if (row === undefined) return { entryId, absence: absent.missing };
  const { canonical, state, hash, signature, key_id: keyId } = row;
  if (canonical === null) return { entryId, absence: absent.erased };
  if (state === 'ABANDONED') return { entryId, absence: absent.abandoned };
  if (hash === null || signature === null || keyId === null) {
    return { entryId, absence: state === 'DEAD' ? absent.dead : absent.pending };
  }
  const key = keys.get(keyId);
  return {
    entryId,
    key,
    proof: {
      id: entryId,
      entryCanonical: canonical,
      entryHash: hash,
      hsmSignature: signature,
      hsmKeyId: keyId,
      publicKey: key?.publicKey ?? '',
    },
  };
}
