import type { ExecutionContext } from 'ava';
import type { Sql } from '../../support/vault/sql.ts';
import type { Reading } from './reading.ts';

interface Entry {
  readonly actor: { readonly id: string };
  readonly requestId: string;
  readonly resource: { readonly id: string };
  readonly data: { readonly bytes: number | null; readonly complete: boolean };
}

/** Milliseconds before and after a fault in which a download may have been hit by it. */
const marginMs = 2_000;

/** A time for which Postgres was away. */
export interface Outage {
  readonly beganAt: number;
  readonly endedAt: number;
}

interface Recorded {
  readonly sql: Sql;
  readonly kills: readonly number[];
  readonly outages: readonly Outage[];
}

/** Asserts that the sealed entries say of every download what the proxy saw of it. */
export async function assertRecorded(
  t: ExecutionContext,
  { sql, kills, outages }: Recorded,
  readings: readonly Reading[],
): Promise<void> {
  const rows = await sql(
    `select canonical, state from audit_entries where action = 'document.downloaded'`,
  );
  t.deepEqual(
    rows.filter(({ state }) => state !== 'SEALED'),
    [],
  );
  const entries = rows.map(({ canonical }) => JSON.parse(String(canonical)) as Entry);
  t.is(new Set(entries.map(({ requestId }) => requestId)).size, entries.length, 'one each');

  // A process that dies while Postgres is away has not stored the ends of downloads since then.
  const losses = kills.map((at) => {
    const before = outages.find(
      ({ beganAt, endedAt }) => beganAt <= at && endedAt + marginMs >= at,
    );
    return { beganAt: before?.beganAt ?? at, endedAt: at };
  });
  const isKilled = (reading: Reading) => losses.some((loss) => isDuring(reading, loss));
  // The commit of a download that began when Postgres died may have gone unheard.
  const isUnheard = (reading: Reading) => outages.some((outage) => isDuring(reading, outage));
  const isDisturbed = (reading: Reading) => isKilled(reading) || isUnheard(reading);
  const [whole, parts] = [
    readings.filter(({ asked }) => asked.first === undefined),
    readings.filter(({ asked }) => asked.first !== undefined),
  ];
  const counts = { complete: 0, incomplete: 0, unknown: 0, ranges: parts.length, refused: 0 };
  for (const reading of whole) {
    const { asked, seen } = reading;
    const entry = entries.find(({ requestId }) => requestId === seen.requestId);
    const text = JSON.stringify([asked.documentId, asked.bytes, asked.plan, seen, entry]);
    if (seen.status !== 200) {
      counts.refused += 1;
      if (!isDisturbed(reading)) t.is(entry, undefined, text);
      t.true(entry === undefined || !entry.data.complete, text);
      continue;
    }
    if (entry === undefined) {
      t.fail(`no entry: ${text}`);
      continue;
    }
    const { bytes, complete } = entry.data;
    t.is(entry.actor.id, asked.reader.caller.userId, text);
    t.is(entry.resource.id, asked.documentId, text);
    if (bytes === null) {
      counts.unknown += 1;
      t.true(isKilled(reading) && !complete, text);
      continue;
    }
    counts[complete ? 'complete' : 'incomplete'] += 1;
    t.is(complete, seen.bytes === asked.bytes, text);
    t.true(bytes >= seen.bytes && bytes <= asked.bytes, text);
    t.true(!complete || bytes === asked.bytes, text);
  }
  assertRanges(t, entries, parts, isDisturbed);
  t.log(JSON.stringify({ ...counts, kills: kills.length, outages: outages.length }));
  t.true(counts.complete > 0 && counts.incomplete > 0, JSON.stringify(counts));
}

function isDuring({ beganAt, endedAt }: Reading, fault: Outage): boolean {
  return beganAt <= fault.endedAt + marginMs && endedAt >= fault.beganAt - marginMs;
}

/** Asserts that the ranges of each document are summed up. */
function assertRanges(
  t: ExecutionContext,
  entries: readonly Entry[],
  parts: readonly Reading[],
  isDisturbed: (reading: Reading) => boolean,
): void {
  for (const [documentId, ranges] of Map.groupBy(parts, ({ asked }) => asked.documentId)) {
    const own = entries.filter(({ resource }) => resource.id === documentId);
    const text = JSON.stringify([documentId, ranges.map(({ seen }) => seen), own]);
    t.true(own.length > 0, text);
    // A range that died unanswered is part of the sum, and nobody saw how much of it was sent.
    const tried = ranges.map((each) => ({ ...each, beganAt: each.triedAt }));
    if (tried.some(isDisturbed)) continue;
    const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, each) => sum + each, 0);
    const asked = sumOf(ranges.map(({ asked: { bytes } }) => bytes));
    t.is(sumOf(own.map(({ data }) => data.bytes ?? NaN)), asked, text);
    t.true(
      own.every(({ data }) => data.complete),
      text,
    );
  }
}
