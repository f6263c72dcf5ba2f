import { Readable } from 'node:stream';
import { canonicalText } from '../../json/canonical-text.ts';
import type { Owner, Tx } from '../../db/database.ts';
import { loadObject } from '../objects/object-rows.ts';

/** Number of versions that are read at a time: about 110 kB of text. */
const versionsAtOnce = 1000;

/** Runs `work` in a short transaction of its own that sees only the rows of the owner. */
type Read = <T>(work: (tx: Tx, owner: Owner) => Promise<T>) => Promise<T>;

/**
 * Returns an object and its versions as a stream of RFC 8785 text. Reads the versions only as fast
 * as the stream is consumed, since an object may have any number of them. The stream fails if
 * versions are removed meanwhile. Throws not_found, also for a tombstone.
 */
export async function exportObject(read: Read, objectId: string, now: Date): Promise<Readable> {
  const { version, data } = await read((tx, owner) => loadObject(tx, owner, objectId));

  async function* write(): AsyncGenerator<string, void, void> {
    // `data` is stored as RFC 8785 text. The members are in the order that RFC 8785 demands.
    yield (
      `{"canonical_version":${version},"data":${data},` +
        `"exported_at":"${now.toISOString()}","history":[`
    );
    let last: number | undefined;
    while (last !== version) {
      const after = last;
      const rows = await read((tx, owner) =>
        loadVersions(tx, owner, objectId, { after: after ?? 0, upTo: version }),
      );
      assertContinues(rows, after);
      last = rows.at(-1)?.version;
      yield (after === undefined ? '' : ',') + rows.map(toText).join(',');
    }
    yield `],"object_id":"${objectId}"}`;
  }

  return Readable.from(write(), { highWaterMark: 1 });
}

type Version = Awaited<ReturnType<typeof loadVersions>>[number];

function loadVersions(
  tx: Tx,
  { userId, tenantId }: Owner,
  objectId: string,
  { after, upTo }: { readonly after: number; readonly upTo: number },
) {
  return (
    tx
      .selectFrom('sync_history')
      .select(['version', 'recorded_at', 'device_id'])
      .where('user_id', '=', userId)
      .where('tenant_id', '=', tenantId)
      .where('object_id', '=', objectId)
      .where('status', '=', 'APPLIED')
      .where('version', '>', after)
      // A write may have added a later version since the object was read.
      .where('version', '<=', upTo)
      .orderBy('version')
      .limit(versionsAtOnce)
      .execute()
  );
}

/** Throws unless the versions of the rows are consecutive, and follow `after` if given. */
function assertContinues(rows: readonly Version[], after: number | undefined): void {
  const first = rows[0]?.version;
  const isNext = first !== undefined && (after === undefined || first === after + 1);
  if (isNext && rows.every(({ version }, index) => version === first + index)) return;
  throw new Error('versions of the object were removed during its export');
}

function toText({ version, recorded_at, device_id }: Version): string {
  return canonicalText({ version, timestamp: recorded_at.toISOString(), device_id });
}
