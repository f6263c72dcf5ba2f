import { lengthy, type Database, type Tx } from '../../db/database.ts';
import type { Log } from '../../telemetry/log.ts';
import type { StoredProofs } from '../proofs/stored-proofs.ts';
import type { VerifyingThreads } from '../verification/verifying-threads.ts';
import { createEntryCheck, type Finding } from './entry-check.ts';
import { addFindings, readFindings, removeFindings, type NamedFinding } from './findings.ts';
import { withoutLeftOut } from './left-out.ts';
import {
  readLastPlaces,
  readNewestRows,
  readPlaces,
  readRows,
  type LastPlace,
  type LogPlace,
  type NumberedRow,
} from './log-rows.ts';
import { advance, countDue, findWalk, type Walk } from './walks.ts';

/** The counts of a check, by the names of the report of `verify-log`. */
export interface LogCounts {
  readonly checkedEntries: number;
  readonly checkedTrails: number;
  readonly damagedEntries: number;
  readonly missingEntries: number;
  readonly mendedFindings: number;
}

/** The results of a part of a check, which `record` stores. */
interface CheckedPart {
  readonly checkedEntries?: number;
  readonly checkedTrails?: number;
  readonly findings: readonly Finding[];
  /** Earlier findings at whose places the log is whole now. */
  readonly mended?: readonly LogPlace[];
  /** How far the walk of this part has come. */
  readonly walk?: Walk;
  readonly isEnd?: boolean;
}

/** Number of the newest entries that each run verifies. */
export const newestCount = 1_000;
const batchSize = 10_000;
const findingsBatch = 100;

interface LogCheckOptions {
  readonly db: Database;
  readonly storedProofs: StoredProofs;
  readonly threads: VerifyingThreads;
  readonly log: Log;
}

export type LogCheck = ReturnType<typeof createLogCheck>;

/** Creates the service that checks, for maintenance, whether the audit log is whole. */
export function createLogCheck({ db, storedProofs, threads, log }: LogCheckOptions) {
  const checkEntries = createEntryCheck({ storedProofs, threads });
  const read = <T>(work: (tx: Tx) => Promise<T>) => db.asService(work, lengthy);
  /** Leaves out what may be in a month that is away. */
  const judge = (findings: readonly Finding[]) => read((tx) => withoutLeftOut(tx, findings));
  const check = async (rows: readonly NumberedRow[]) => judge(await checkEntries(rows));

  /** Looks again at what earlier runs found. */
  async function* recheck(): AsyncGenerator<CheckedPart> {
    let last: Finding | undefined;
    do {
      const known = await read((tx) => readFindings(tx, findingsBatch, last));
      const places = await read((tx) => readPlaces(tx, known));
      const findings = await check(places.flatMap(({ row }) => row ?? []));
      const mended = places.filter(
        (place) =>
          !(place.row === undefined && place.isExpected) &&
          !findings.some((finding) => isSame(finding, place)),
      );
      if (known.length > 0) yield { checkedEntries: known.length, findings, mended };
      last = known.at(-1);
    } while (last !== undefined);
  }

  async function* newest(): AsyncGenerator<CheckedPart> {
    const rows = await read((tx) => readNewestRows(tx, newestCount));
    yield { checkedEntries: rows.length, findings: await check(rows) };
  }

  /** Reads and checks the rows that are due of a walk. */
  async function* walkOn<Row>(
    { name, days }: { readonly name: Walk['name']; readonly days: number },
    next: (place: string | null, limit: number) => Promise<readonly Row[]>,
    checkAll: (rows: readonly Row[]) => Promise<CheckedPart>,
    keyOf: (row: Row) => unknown,
  ): AsyncGenerator<CheckedPart> {
    const walk = await read((tx) => findWalk(tx, name));
    let due = countDue(walk, days);
    let { place, checked } = walk;
    while (due > 0) {
      const limit = Math.min(batchSize, due);
      const rows = await next(place, limit);
      const last = rows.at(-1);
      if (last !== undefined) place = JSON.stringify(keyOf(last));
      checked += rows.length;
      const isEnd = rows.length < limit;
      const part = await checkAll(rows);
      yield { ...part, walk: { ...walk, place, checked }, isEnd };
      due = isEnd ? 0 : due - rows.length;
    }
  }

  const walkEntries = (days: number) =>
    walkOn<NumberedRow>(
      { name: 'entries', days },
      (place, limit) => read((tx) => readRows(tx, parsePlace(place) as string | null, limit)),
      async (rows) => ({ checkedEntries: rows.length, findings: await check(rows) }),
      ({ id }) => id,
    );

  const walkTrails = (days: number) =>
    walkOn<LastPlace>(
      { name: 'trails', days },
      (place, limit) => read((tx) => readLastPlaces(tx, parsePlace(place) as number | null, limit)),
      async (trails) => ({
        checkedTrails: trails.length,
        findings: await judge(
          trails.flatMap(({ trailId, seq, hasLast }) =>
            hasLast ? [] : { trailId, seq, defect: 'missing' },
          ),
        ),
      }),
      ({ trailId }) => trailId,
    );

  return {
    /**
     * Checks what earlier runs found, the newest entries and the next stretch of the log, so that a
     * run a day checks the whole log within `days`. Each part MUST be recorded before the next one
     * is asked for.
     */
    async *check(days: number): AsyncGenerator<CheckedPart> {
      yield* recheck();
      yield* newest();
      yield* walkEntries(days);
      yield* walkTrails(days);
    },

    /** Records what a part of a check has found. Resolves with its counts. */
    async record(tx: Tx, part: CheckedPart): Promise<Partial<LogCounts>> {
      const { findings, mended = [], walk, isEnd = false } = part;
      const added = await addFindings(tx, findings);
      await removeFindings(tx, mended);
      if (walk !== undefined) await advance(tx, walk, { isEnd });
      for (const finding of added) log.error(finding, 'an audit entry is damaged or missing');
      const missing = added.filter(({ defect }) => defect === 'missing').length;
      return {
        checkedEntries: part.checkedEntries ?? 0,
        checkedTrails: part.checkedTrails ?? 0,
        damagedEntries: added.length - missing,
        missingEntries: missing,
        mendedFindings: mended.length,
      };
    },

    /** Counts the entries and trails that a check would look at now. */
    async countDue(tx: Tx, days: number): Promise<Partial<LogCounts>> {
      const due = async (name: Walk['name']) => {
        const walk = await findWalk(tx, name);
        return Math.min(countDue(walk, days), Math.max(0, walk.size - walk.checked));
      };
      const { length } = await readNewestRows(tx, newestCount);
      return {
        checkedEntries: length + (await due('entries')),
        checkedTrails: await due('trails'),
      };
    },

    /** Returns the first findings at whose places the log is still not whole. */
    findings: (limit: number): Promise<NamedFinding[]> => read((tx) => readFindings(tx, limit)),
  };
}

function isSame(one: LogPlace, other: LogPlace): boolean {
  return one.trailId === other.trailId && one.seq === other.seq;
}

function parsePlace(place: string | null): unknown {
  return place === null ? null : JSON.parse(place);
}
