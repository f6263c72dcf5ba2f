import { sql } from 'kysely';
import type { SignerClient } from '../../signer/protocol/client.ts';
import type { SigningPurpose } from '../../signer/protocol/protocol.ts';
import type { AuditTrail } from '../trail/trail.ts';
import type { Database, Tx } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { RegisteredKey } from '../proof/registered-key.ts';
import { keyEvent, type KeyActor } from './registration.ts';
import type { KeyRegistry } from './registry.ts';

/** How a key is exchanged for the next: made, published, activated in its predecessor's place. */
export interface KeyRotation {
  /**
   * Makes the next generation in the token and registers it; answers its key id. Throws
   * audit_backlog_full, as all of these do unless the token lost the key that signs the log, and
   * SignerUnavailable.
   */
  create(purpose: SigningPurpose, actor: KeyActor): Promise<string>;
  /**
   * Its predecessor is retired in the same instant. Does nothing to the active key. Throws
   * not_found, key_retired, key_not_in_token, key_not_published and SignerUnavailable; of a
   * predecessor that is said to be lost and is in the token key_not_lost.
   */
  activate(keyId: string, activation: Activation): Promise<void>;
  /** Gives up a key that signed nothing yet. Throws not_found and key_in_use. */
  retire(keyId: string, actor: KeyActor): Promise<void>;
}

interface Activation extends KeyActor {
  /**
   * The active key can sign no more, not even for its successor: that is activated at once, and
   * vouched for by nothing but its published fingerprint.
   */
  readonly predecessorLost: boolean;
}

interface KeyRotationOptions {
  readonly db: Database;
  readonly signer: SignerClient;
  readonly audit: AuditTrail;
  readonly registry: KeyRegistry;
  /** How long a key is published before it may sign: others keep the old key set that long. */
  readonly publishSeconds: number;
}

type KeyRow = Awaited<ReturnType<typeof lockKeys>>[number];

export function createKeyRotation(options: KeyRotationOptions): KeyRotation {
  const { db, signer, audit, registry, publishSeconds } = options;

  async function load(keyId: string): Promise<RegisteredKey> {
    await registry.refresh();
    const key = await registry.find(keyId);
    if (key === undefined) throw new AppError('not_found');
    return key;
  }

  async function listHeld(): Promise<ReadonlySet<string>> {
    return new Set((await signer.listKeys()).map(({ keyId }) => keyId));
  }

  /** Where the key that signs the log is lost, the backlog drains once it is exchanged, or never. */
  async function assertWritable(): Promise<void> {
    try {
      audit.assertWritable();
    } catch (error) {
      const keys = await registry.list();
      const active = keys.find(({ purpose, state }) => purpose === 'audit' && state === 'ACTIVE');
      const held = await listHeld().catch(() => undefined);
      if (active === undefined || held?.has(active.keyId) !== false) throw error;
    }
  }

  /** With the keys of the purpose locked: none signs meanwhile. */
  async function change(
    { keyId, purpose }: RegisteredKey,
    work: (tx: Tx, key: KeyRow, active: KeyRow | undefined) => Promise<void>,
  ): Promise<void> {
    await db.asService(async (tx) => {
      const keys = await lockKeys(tx, purpose);
      const key = keys.find(({ key_id }) => key_id === keyId);
      if (key === undefined) throw new AppError('not_found');
      const active = keys.find(({ state }) => state === 'ACTIVE');
      await work(tx, key, active);
    });
    await registry.refresh();
  }

  return {
    async create(purpose, actor) {
      await assertWritable();
      // A key that was made while the database went away is not this caller's.
      await registry.sync();
      // The token may have lost the newest; its number stays its own.
      const generations = (await registry.list())
        .filter((key) => key.purpose === purpose)
        .map(({ generation }) => generation);
      const { keyId } = await signer.createKey(purpose, { after: Math.max(0, ...generations) });
      await registry.sync({ keyId, ...actor });
      return keyId;
    },

    async activate(keyId, { predecessorLost, ...actor }) {
      await assertWritable();
      const known = await load(keyId);
      // Registered before the token is asked: what it then lacks was lost, not made meanwhile.
      const registered = new Set((await registry.list()).map((key) => key.keyId));
      const held = await listHeld();
      const isLost = (id: string) => registered.has(id) && !held.has(id);
      await change(known, async (tx, key, active) => {
        if (key.state === 'ACTIVE') return;
        if (key.state === 'RETIRED') throw new AppError('key_retired');
        if (!held.has(keyId)) throw new AppError('key_not_in_token');
        if (!predecessorLost) await requirePublished(tx, keyId, publishSeconds);
        else if (active === undefined || !isLost(active.key_id)) throw new AppError('key_not_lost');
        const at = await readClock(tx);
        const validity = { purpose: key.purpose, at: at.toISOString() };
        if (active !== undefined) {
          await setRetired(tx, active, at);
          const retired = keyEvent('key.retired', active.key_id, actor);
          await audit.append(tx, {
            ...retired,
            data: {
              ...retired.data,
              ...validity,
              successor: keyId,
              ...(predecessorLost ? { lost: true } : {}),
            },
          });
        }
        await setActive(tx, key, at);
        const activated = keyEvent('key.activated', keyId, actor);
        await audit.append(tx, {
          ...activated,
          data: {
            ...activated.data,
            ...validity,
            predecessor: active?.key_id ?? null,
            ...(predecessorLost ? { predecessorLost } : {}),
          },
        });
      });
    },

    async retire(keyId, actor) {
      audit.assertWritable();
      await change(await load(keyId), async (tx, key) => {
        if (key.state === 'RETIRED') return;
        if (key.state === 'ACTIVE') throw new AppError('key_in_use');
        const at = await readClock(tx);
        await setRetired(tx, key, at);
        const retired = keyEvent('key.retired', keyId, actor);
        await audit.append(tx, {
          ...retired,
          data: {
            ...retired.data,
            purpose: key.purpose,
            at: at.toISOString(),
            successor: null,
          },
        });
      });
    },
  };
}

/** Throws key_not_published, with the seconds that are left. */
async function requirePublished(tx: Tx, keyId: string, publishSeconds: number): Promise<void> {
  const { rows } = await sql<{ left: number; recorded: boolean }>`
    select ceil(${publishSeconds} - extract(epoch from clock_timestamp() - k.registered_at))::int
        as "left",
      exists (select from audit_entries e where e.id = k.record_id and e.state = 'SEALED')
        as recorded
    from signing_keys k
    where k.key_id = ${keyId}`.execute(tx);
  const { left = 1, recorded = false } = rows[0] ?? {};
  if (recorded && left <= 0) return;
  throw new AppError('key_not_published', { retryAfterSeconds: Math.max(left, 1) });
}

/**
 * The database's clock, which dates seals too, read after the keys were locked; rounded as it is
 * stored, so that no seal of before is dated later.
 */
async function readClock(tx: Tx): Promise<Date> {
  const { rows } = await sql<{ at: Date }>`
    select clock_timestamp()::timestamptz(3) as at`.execute(tx);
  const [row] = rows;
  if (row === undefined) throw new Error('the database told no time');
  return row.at;
}

async function setActive(tx: Tx, { key_id: keyId }: KeyRow, at: Date): Promise<void> {
  await tx
    .updateTable('signing_keys')
    .set({ state: 'ACTIVE', activated_at: at })
    .where('key_id', '=', keyId)
    .execute();
}

async function setRetired(tx: Tx, { key_id: keyId }: KeyRow, at: Date): Promise<void> {
  await tx
    .updateTable('signing_keys')
    .set({ state: 'RETIRED', retired_at: at })
    .where('key_id', '=', keyId)
    .execute();
}

/** Locks the keys of a purpose, so that one is active at any time. */
async function lockKeys(tx: Tx, purpose: SigningPurpose) {
  return tx
    .selectFrom('signing_keys')
    .selectAll()
    .where('purpose', '=', purpose)
    .orderBy('generation')
    .forUpdate()
    .execute();
}
