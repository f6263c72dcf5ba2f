import type { Identity } from '../../identity/identity.ts';
import type { RekeyList } from '../../keys/keyring.ts';
import { changesOf, type Exchanged, kinds, type RememberedChanges } from '../values/remembered.ts';
import { RolledBackError } from '../values/rolled-back-error.ts';
import type { ExchangedMemory } from './memory-exchange.ts';
import type { Records, StoredRecord } from './records.ts';
import { hashReport, openReport, readPrefix, type Report } from './report.ts';

type Head = Exchanged['heads'][string];

interface ReadDependencies {
  readonly records: Pick<Records, 'list'>;
  /** Opens the user's identity, whose signatures the reports carry. */
  readonly openIdentity: () => Promise<Identity>;
  /** The id of the device that the session is bound to. */
  readonly self: string | undefined;
}

/**
 * Reads the records after those that were read, and remembers what they tell. Resolves with false
 * if all records must be read again: if the last one that was read is no longer in its place, or if
 * the user accepted that reports of a writer were lost. Throws RolledBackError for reports that are
 * invalid or missing.
 */
export async function readReports(
  { records, openIdentity, self }: ReadDependencies,
  memory: ExchangedMemory,
  from: Exchanged,
): Promise<boolean> {
  const { recollection } = memory;
  const list = memory.list();
  const heads = { ...from.heads };
  const told: Record<string, RememberedChanges> = {};
  /** The number of the last report of each writer that another one has read. */
  const wanted = new Map<string, number>();
  /** The number of each writer's first report that does not follow those that were read. */
  const faults = new Map<string, number>();
  let { position, start, last } = from;
  let identity: Identity | undefined;
  let isOnTrack = position === 0;
  let lastOfSelf = 0;

  async function read(stored: StoredRecord): Promise<void> {
    const { writer, number, record } = stored;
    const head = heads[writer];
    const hash = hashReport(record);
    if (head !== undefined && number <= head.number) {
      if (number === head.number && hash !== head.hash) faults.set(writer, number);
      return;
    }
    identity ??= await openIdentity();
    const report = await openReport(memory.reportKey(), identity, stored, record);
    if (report === undefined || !follows(report, head)) {
      faults.set(writer, number);
      return;
    }
    heads[writer] = { number, hash };
    if (writer === self && report.isStart) start = number;
    for (const [other, upTo] of Object.entries(report.read)) {
      wanted.set(other, Math.max(upTo, wanted.get(other) ?? 0));
    }
    told[writer] = joinReports(told[writer], recollection.worthKeeping(report));
  }

  for await (const stored of records.list(Math.max(position - 1, 0))) {
    if (!isOnTrack && stored.position !== position) return false;
    isOnTrack = true;
    position = stored.position;
    const { writer, number } = stored;
    if (writer === self) lastOfSelf = number;
    const { kind, generation } = readPrefix(stored.record) ?? {};
    // A rekey that failed may have left a list under a master key that nobody has.
    const isRead = kind === 'report' || (kind === 'list' && writer === list?.writer);
    if (!isRead || generation !== from.generation || faults.has(writer)) continue;
    if (!recollection.isRevoked(writer, told)) await read(stored);
  }
  if (!isOnTrack) return false;

  /** Throws unless the user accepted that this report of a writer was lost. */
  function assertLost(writer: string, number: number): void {
    if (number > recollection.lostReports(writer, told)) throw notAsRead(writer, number);
  }

  const isOfRevoked = ([writer]: readonly [string, number]) => recollection.isRevoked(writer, told);
  const broken = [...faults].filter((fault) => !isOfRevoked(fault));
  for (const [writer, number] of broken) {
    assertLost(writer, number);
    // The head of an earlier reading is of a report that was lost, and is dropped once. Without it,
    // the report itself is invalid.
    if (from.heads[writer] === undefined) throw notAsRead(writer, number);
    delete heads[writer];
  }
  if (broken.length > 0) {
    await memory.keep({ told, exchanged: { ...from, position: 0, heads } });
    return false;
  }
  for (const [writer, number] of wanted) {
    const isRead = (heads[writer]?.number ?? 0) >= number || isOfRevoked([writer, number]);
    if (!isRead) assertLost(writer, number);
  }
  if (list !== undefined && !isSameHead(heads[list.writer], list)) throw listNotAsRead(list);
  last = Math.max(last, lastOfSelf);
  // The vault lost reports of this device: it tells everything anew.
  if (from.position === 0 && lastOfSelf < (heads[self ?? '']?.number ?? 0)) start = 0;
  if (position !== from.position || start !== from.start) {
    await memory.keep({ told, exchanged: { ...from, position, heads, start, last } });
  }
  return true;
}

/** Returns whether a report follows the last one of its writer that was read. */
function follows({ isStart, previous }: Report, head: Head | undefined): boolean {
  return isStart || (head !== undefined && previous === head.hash);
}

function isSameHead(head: Head | undefined, { number, hash }: RekeyList): boolean {
  return head?.number === number && head.hash === hash;
}

function joinReports(
  before: RememberedChanges = changesOf({}),
  next: RememberedChanges,
): RememberedChanges {
  return changesOf(
    Object.fromEntries(kinds.map((kind) => [kind, { ...before[kind], ...next[kind] }])),
  );
}

function notAsRead(writer: string, number: number): RolledBackError {
  return new RolledBackError({
    subject: 'memory',
    id: writer,
    number,
    remembered: `reports up to number ${number}`,
    shown: 'another report, or none',
  });
}

function listNotAsRead({ writer, number }: RekeyList): RolledBackError {
  return new RolledBackError({
    subject: 'memory',
    id: writer,
    remembered: `a list of the last rekey with ${number} records`,
    shown: 'another list, or none',
  });
}
