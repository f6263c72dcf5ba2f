import { repeat } from '../../async/repeat.ts';
import { nobody, type AuditEvent, type EventData } from '../../audit-trail/event.ts';
import type { AuditTrail } from '../../audit-trail/audit-trail.ts';
import { selectTrailsOf } from '../../audit-trail/trails.ts';
import { lockName } from '../../db/advisory-lock.ts';
import type { Database, Tx } from '../../db/database.ts';
import type { ApiKey } from '../../internal-api/api-key-format.ts';
import type { InternalKeys } from '../../internal-api/check-api-key.ts';
import { canonicalText } from '../../json/canonical-text.ts';
import type { Log } from '../../telemetry/log.ts';

interface RecorderOptions {
  readonly db: Database;
  readonly audit: Pick<AuditTrail, 'append'>;
  readonly internalKeys: Pick<InternalKeys, 'takeSets'>;
  readonly log: Log;
}

type KeySet = EventData<'internal_keys.configured'>;

const everyMs = 1_000;
const action = 'internal_keys.configured';
const resource = { type: 'internal_keys', id: 'configured' } as const;
/** Hexadecimal digits of the SHA-256 of a key that name it in entries. */
const fingerprintLength = 16;

/**
 * Starts to append an entry whenever the set of internal API keys differs from the one of the last
 * entry, until stopped. The comparison is with the log, so that a change while no process runs is
 * found at the next start.
 */
export function recordKeySets({ db, audit, internalKeys, log }: RecorderOptions) {
  let waiting: (readonly ApiKey[])[] = [];

  async function record(): Promise<void> {
    waiting.push(...(await internalKeys.takeSets()));
    while (waiting[0] !== undefined) {
      const data = describe(waiting[0]);
      await db.asService(async (tx) => {
        await lockName(tx, action);
        if (canonicalText(data) !== (await findLast(tx))) await audit.append(tx, toEvent(data));
      });
      waiting = waiting.slice(1);
    }
  }

  const recording = repeat(everyMs, record, (error) =>
    log.warn({ err: error }, 'the set of internal API keys could not be recorded; retrying'),
  );
  recording.now();
  return { stop: recording.stop };
}

/** Returns the canonical text of the last set that was recorded; without one, of the empty set. */
async function findLast(tx: Tx): Promise<string> {
  const row = await tx
    .selectFrom('audit_entries')
    .select('canonical')
    .where(
      'trail_id',
      '=',
      selectTrailsOf(tx, nobody, resource.type).where('resource_id', '=', resource.id),
    )
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (row === undefined) return canonicalText(describe([]));
  return canonicalText(
    (JSON.parse(row.canonical ?? '{}') as { readonly data?: KeySet }).data ?? {},
  );
}

function describe(keys: readonly ApiKey[]): KeySet {
  return {
    keys: keys
      .map(({ name, sha256, admin }) => ({
        name,
        fingerprint: sha256.slice(0, fingerprintLength),
        admin,
      }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

function toEvent(data: KeySet): AuditEvent<typeof action> {
  return {
    action,
    actor: { type: 'system', id: 'internal-api' },
    owner: nobody,
    resource,
    requestId: null,
    data,
  };
}
