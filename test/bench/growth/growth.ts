import { setTimeout } from 'node:timers/promises';
import { reasonToAllow } from '../../http/plans/exceptions.ts';
import { sealHistory } from '../../upgrade/history.ts';
import { percentile, round, type Bench } from '../harness/bench.ts';
import { startBenchStack } from '../harness/bench-stack.ts';
import { measureBuffers, prepareExplaining, watchNotices, type Buffers } from './buffers.ts';
import { findOldWriters, holdSnapshot, startSubject, type Subject } from './subject.ts';

const rows = Number(process.env['ROWS'] ?? 1_000_000);
const smallVault = { rows: 10_000, entries: 10_000 };
const largeVault = { rows, entries: Number(process.env['ENTRIES'] ?? rows) };
const rounds = Number(process.env['ROUNDS'] ?? 60);
const warmUps = 3;
/** Rounds in which Postgres explains each statement, which takes time of its own. */
const explainedRounds = 8;
/** Entries that are appended and sealed while a snapshot is held. */
const sealedUnderSnapshot = 50_000;
/** How long the vaults get no request while the statements of their workers are explained. */
const idleMs = 40_000;
/** A flat cost: the greatest one with many rows, in multiples of the cost with few. */
const limit = 1.5;
/** How many times a statement must have been executed with few and with many rows. */
const minimum = 5;
/**
 * Statements with fewer buffers count as if they had this number: one level more in each of the
 * indexes that they use is no growth.
 */
const leastBuffers = 8;

/** Quicker requests count as if they took this long: pauses of the process make them differ. */
const leastMs = 10;

/** How much more something costs with many rows than with few. */
interface Growth {
  readonly name: string;
  readonly few: number;
  readonly many: number;
}

/**
 * Measures requests to every route, and the statements of routes and workers, in a vault with a
 * million documents, entries, objects, sessions and jobs against one with ten thousand: the p95 of
 * the requests, which take turns, and the buffers of the statements. Measures all once more while
 * snapshots are held: with many rows, over 50,000 entries that were appended and sealed since. The
 * figure is the worst ratio. ROWS and ENTRIES set how many there are in the large vault.
 */
export const benchGrowth: Bench = async (progress) => {
  using notices = watchNotices();
  await using stack = await startBenchStack();
  await prepareExplaining(stack.postgres);
  await using few = await startSubject(stack, smallVault);
  await using many = await startSubject(stack, largeVault);
  progress(`${rows} rows of each kind, ${largeVault.entries} entries`);

  const figures: Record<string, number> = {};
  let worst = 0;
  function note(what: string, growths: readonly Growth[]): void {
    const sorted = growths.toSorted((a, b) => ratioOf(b) - ratioOf(a));
    for (const growth of sorted.slice(0, 8)) {
      const figure = `${round(growth.few, 2)} → ${round(growth.many, 2)}`;
      progress(`${what}: ${figure}: ${growth.name.replaceAll(/\s+/g, ' ')}`);
    }
    const [first] = sorted;
    if (first === undefined) throw new Error(`nothing was measured: ${what}`);
    figures[what] = round(ratioOf(first), 2);
    worst = Math.max(worst, ratioOf(first));
  }
  const explain = async (work: () => Promise<void>): Promise<Growth[]> => {
    const buffers = await measureBuffers(stack.postgres, notices, work);
    return compare(buffers.get(few.database), buffers.get(many.database));
  };
  async function measure(when: string): Promise<void> {
    note(`milliseconds of requests${when}`, await measureTimes(few, many));
    const requests = await explain(async () => {
      for (let turn = 0; turn < explainedRounds; turn += 1) {
        for (const subject of [few, many]) await subject.askAll(() => undefined);
      }
    });
    note(`buffers of statements${when}`, requests);
    note(`buffers of polls${when}`, await explain(() => setTimeout(idleMs)));
    for (const writer of await findOldWriters(many.adminUrl)) progress(`still writing: ${writer}`);
  }

  await measure('');
  await using _small = await holdSnapshot(few.adminUrl);
  await using _large = await holdSnapshot(many.adminUrl);
  await sealHistory(many.adminUrl, sealedUnderSnapshot);
  progress(`${sealedUnderSnapshot} entries sealed under a snapshot`);
  await measure(' under a snapshot');
  return {
    ours: round(worst, 2),
    reference: limit,
    unit: 'cost with many rows over the cost with few',
    ratio: round(limit / worst),
    ...figures,
    smallVault: smallVault.rows,
    rows,
    entries: largeVault.entries,
    rounds,
  };
};

const ratioOf = ({ few, many }: Growth): number => many / few;

function toMs(values: readonly number[]): number {
  return Math.max(leastMs, percentile(values, 0.95));
}

function toBuffers(values: readonly number[]): number {
  return Math.max(leastBuffers, percentile(values, 0.5));
}

/** Returns the p95 of the requests to each route. Throws if the vaults gave different responses. */
async function measureTimes(few: Subject, many: Subject): Promise<Growth[]> {
  const times = new Map<string, Record<'few' | 'many', number[]>>();
  const statuses = { few: new Map<string, number>(), many: new Map<string, number>() };
  for (let turn = 0; turn < warmUps + rounds; turn += 1) {
    const order = [['few', few] as const, ['many', many] as const];
    for (const [which, subject] of turn % 2 === 0 ? order : order.toReversed()) {
      await subject.askAll((name, ms, status) => {
        statuses[which].set(`${turn} ${name}`, status);
        if (turn < warmUps) return;
        const found = times.get(name) ?? { few: [], many: [] };
        found[which].push(ms);
        times.set(name, found);
      });
    }
  }
  for (const [name, status] of statuses.few) {
    const other = statuses.many.get(name);
    if (other !== status) throw new Error(`${name}: ${status} with few rows, ${other} with many`);
  }
  return [...times].map(([name, found]) => ({
    name,
    few: toMs(found.few),
    many: toMs(found.many),
  }));
}

/**
 * Returns the median buffers, for each row of a batch, of each statement that was executed several
 * times with both.
 */
function compare(few: Buffers = new Map(), many: Buffers = new Map()): Growth[] {
  return [...few].flatMap(([text, ofFew]) => {
    const ofMany = many.get(text) ?? [];
    if (Math.min(ofFew.length, ofMany.length) < minimum) return [];
    if (reasonToAllow(text) !== undefined) return [];
    return [{ name: text, few: toBuffers(ofFew), many: toBuffers(ofMany) }];
  });
}
