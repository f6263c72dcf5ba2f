import { sql } from 'kysely';
import { isOfMonths } from '../../audit-trail/archived-months.ts';
import { inIndexOrder, type Database, type Owner, type Tx } from '../../db/database.ts';
import type { RegisteredKey } from '../../proof/registered-key.ts';
import type { KeyRegistry } from '../../signing-keys/registry.ts';
import { pageBytes } from '../../http/responses/page.ts';
import { selectInReach, selectMatches, textBytes } from '../entries/matches.ts';
import type { AuditProof } from '../../proof/proof.ts';
import type { absences } from '../../proof/schema.ts';
import { composeSealedText } from '../../proof/sealed-text.ts';
import {
  asReader,
  isOfTrail,
  selectReadable,
  selectTrails,
  type EntryReader,
} from '../entries/readers.ts';
import { readRestores, readRows, type ProofRow } from './proof-rows.ts';

/** The reason why an entry has no proof, as an error code. */
export interface Absence {
  readonly reason: (typeof absences)[number];
  readonly retryAfterSeconds?: number;
}

/** The unverified proof of an entry as it is stored, or the reason why the entry has no proof. */
export type StoredProof = { readonly entryId: string } & (
  | {
      readonly proof: AuditProof;
      /** Undefined if the signing key is not registered; `proof.publicKey` is then empty. */
      readonly key: RegisteredKey | undefined;
      /** When the entry was stored. */
      readonly heldSince: Date;
    }
  | { readonly absence: Absence }
);

/** A resource that audit entries are about. */
interface Resource {
  readonly type: string;
  readonly id: string;
}

interface EntriesPage {
  readonly limit: number;
  /** The number of the last entry on the previous page. */
  readonly after?: number | undefined;
  /** Restricts the page to entries of one action. */
  readonly action?: string | undefined;
  /** Restricts the page to entries that name this version of a document. */
  readonly version?: number | undefined;
}

export type StoredProofs = ReturnType<typeof createStoredProofs>;

const absent = {
  missing: { reason: 'not_found' },
  archived: { reason: 'entry_archived' },
  erased: { reason: 'entry_erased' },
  abandoned: { reason: 'entry_unrecoverable' },
  /** The long delay leaves time for an operator, who has to retry the dead entry. */
  dead: { reason: 'proof_not_ready', retryAfterSeconds: 60 },
  pending: { reason: 'proof_not_ready', retryAfterSeconds: 1 },
} as const satisfies Record<string, Absence>;

interface StoredProofsOptions {
  readonly db: Database;
  readonly registry: KeyRegistry;
}

/** Creates the service that reads stored audit proofs. */
export function createStoredProofs({ db, registry }: StoredProofsOptions) {
  async function findKeys(rows: readonly ProofRow[]): Promise<Map<string, RegisteredKey>> {
    const keyIds = [...new Set(rows.flatMap(({ key_id: keyId }) => keyId ?? []))];
    const find = () => Promise.all(keyIds.map((keyId) => registry.find(keyId)));
    let keys = await find();
    if (keys.some((key) => key === undefined || key.state === 'CREATED')) {
      // Another process may have just registered or activated the key.
      await registry.refresh();
      keys = await find();
    }
    return new Map(keys.flatMap((key) => (key === undefined ? [] : [[key.keyId, key]])));
  }

  /**
   * Returns one result for each id, in the order of the ids. An entry that the caller may not see
   * is reported as not_found, and an id of a month that is away as entry_archived, whether or not
   * there is such an entry.
   */
  async function find(caller: EntryReader, entryIds: readonly string[]): Promise<StoredProof[]> {
    const { rows, away } = await readRows(db, caller, entryIds);
    const keys = await findKeys(rows);
    const byId = new Map(rows.map((row) => [row.id, row]));
    return entryIds.map((entryId) => {
      const row = byId.get(entryId);
      if (row === undefined && isOfMonths(away, entryId)) {
        return { entryId, absence: absent.archived };
      }
      return toStored(entryId, row, keys);
    });
  }

  /** Returns the sizes in bytes of the texts of the entries that the caller may see. */
  async function findSizes(
    caller: EntryReader,
    entryIds: readonly string[],
  ): Promise<ReadonlyMap<string, number>> {
    const rows = await asReader(db, caller, (tx) =>
      selectReadable(tx, caller)
        .select(['id', textBytes.as('bytes')])
        .where('id', '=', sql<string>`any(${entryIds}::uuid[])`)
        .execute(),
    );
    return new Map(rows.map(({ id, bytes }) => [id, bytes]));
  }

  return {
    find,
    findOfResource: (caller: EntryReader, resource: Resource, page: EntriesPage) =>
      asReader(
        db,
        caller,
        (tx) => selectOfResource(tx, caller, resource, page).execute(),
        inIndexOrder,
      ),

    /** Returns the number of the last entry of a resource; 0 if the reader sees none. */
    async findLastOfResource(reader: EntryReader, resource: Resource): Promise<number> {
      const find = (tx: Tx) => selectLastOfResource(tx, reader, resource).executeTakeFirst();
      return (await asReader(db, reader, find, inIndexOrder))?.seq ?? 0;
    },

    /** Counts the numbers of a resource that were given out, and have no entry in the log. */
    async countMissingOfResource(owner: Owner, { type, id }: Resource): Promise<number> {
      const trail = await db.asUser(owner, (tx) =>
        tx
          .selectFrom('audit_trails as trail')
          .select(({ selectFrom, ref, fn }) => [
            'last_seq',
            selectFrom('audit_log as entry')
              .select(fn.countAll<number>().as('count'))
              .where('entry.trail_id', '=', ref('trail.id'))
              .as('count'),
          ])
          .where('user_id', '=', owner.userId)
          .where('tenant_id', '=', owner.tenantId)
          .where('resource_type', '=', type)
          .where('resource_id', '=', id)
          .executeTakeFirst(),
      );
      return trail === undefined ? 0 : trail.last_seq - Number(trail.count);
    },

    /** Yields the results of `find` in slices whose entries have at most 1 MiB of text. */
    async *findInSlices(
      caller: EntryReader,
      entryIds: readonly string[],
    ): AsyncGenerator<readonly StoredProof[], void, void> {
      const sizes = await findSizes(caller, entryIds);
      let slice: string[] = [];
      let room = pageBytes;
      for (const entryId of entryIds) {
        room -= sizes.get(entryId) ?? 0;
        if (room < 0 && slice.length > 0) {
          yield await find(caller, slice);
          slice = [];
          room = pageBytes - (sizes.get(entryId) ?? 0);
        }
        slice.push(entryId);
      }
      yield await find(caller, slice);
    },

    /**
     * Returns the proofs of the last restores of the vault, newest first. They concern every user,
     * and are nobody's.
     */
    async findRestores(limit: number): Promise<AuditProof[]> {
      const rows = await db.asService((tx) => readRestores(tx, limit));
      const keys = await findKeys(rows);
      const stored = rows.map((row) => toStored(row.id, row, keys));
      return stored.flatMap((found) => ('proof' in found ? [found.proof] : []));
    },

    /** Returns the ids of the newest `limit` entries that the caller may see and are not erased. */
    async findNewestIds(caller: EntryReader, limit: number): Promise<string[]> {
      const find = (tx: Tx) =>
        selectMatches(tx, selectInReach(tx, caller))
          .where('entry.erased_at', 'is', null)
          .limit(limit)
          .execute();
      const rows = await asReader(db, caller, find, inIndexOrder);
      return rows.map(({ id }) => id);
    },
  };
}

/** The version of a document that the text of an entry names. */
const namedVersion = sql<number>`(canonical::jsonb -> 'data' ->> 'version')::int`;

/** Selects entries of a resource in the order of their numbers, with the sizes of their texts. */
export function selectOfResource(
  tx: Tx,
  caller: EntryReader,
  resource: Resource,
  { after = 0, limit, action, version }: EntriesPage,
) {
  let ofTrail = selectReadable(tx, caller)
    .select(['id', 'action', 'seq', textBytes.as('bytes')])
    .where(isOfTrail)
    .where('seq', '>', after)
    .orderBy('seq')
    .limit(limit);
  if (version !== undefined) ofTrail = ofTrail.where(namedVersion, '=', version);
  if (action !== undefined) ofTrail = ofTrail.where('action', '=', action);
  return selectTrails(tx, caller, resource)
    .innerJoinLateral(ofTrail.as('entry'), (on) => on.onTrue())
    .select(['entry.id', 'entry.action', 'entry.seq', 'entry.bytes'])
    .orderBy('entry.seq')
    .limit(limit);
}

function selectLastOfResource(tx: Tx, reader: EntryReader, resource: Resource) {
  const ofTrail = selectReadable(tx, reader)
    .select('seq')
    .where(isOfTrail)
    .orderBy('seq', 'desc')
    .limit(1);
  return selectTrails(tx, reader, resource)
    .innerJoinLateral(ofTrail.as('entry'), (on) => on.onTrue())
    .select('entry.seq')
    .orderBy('entry.seq', 'desc')
    .limit(1);
}

function toStored(
  entryId: string,
  row: ProofRow | undefined,
  keys: ReadonlyMap<string, RegisteredKey>,
): StoredProof {
  if (row === undefined) return { entryId, absence: absent.missing };
  const { canonical, state, hash, signature, key_id: keyId, sealed_at, late } = row;
  if (canonical === null) return { entryId, absence: absent.erased };
  if (state === 'ABANDONED') return { entryId, absence: absent.abandoned };
  if (hash === null || signature === null || keyId === null || sealed_at === null) {
    return { entryId, absence: state === 'DEAD' ? absent.dead : absent.pending };
  }
  const key = keys.get(keyId);
  return {
    entryId,
    key,
    heldSince: row.created_at,
    proof: {
      id: entryId,
      entryCanonical: composeSealedText({ canonical, sealed_at, late }),
      entryHash: hash,
      hsmSignature: signature,
      hsmKeyId: keyId,
      publicKey: key?.publicKey ?? '',
    },
  };
}
