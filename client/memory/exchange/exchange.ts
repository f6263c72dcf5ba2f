import { createTurns } from '../../async/turns.ts';
import type { Bytes } from '../../bytes/bytes.ts';
import { hasCode } from '../../errors/vault-error.ts';
import type { RekeyList } from '../../keys/keyring.ts';
import type { Identity } from '../../identity/identity.ts';
import type { ExchangedMemory, MemoryExchange } from './memory-exchange.ts';
import { changesOf, type Exchanged, kinds, type RememberedChanges } from '../values/remembered.ts';
import { RolledBackError } from '../values/rolled-back-error.ts';
import { splitValues } from './portions.ts';
import type { Records } from './records.ts';
import { hashReport, openReport, readPrefix, sealReport, type Report } from './report.ts';

/** Number of reports after which a device tells everything anew and removes those before. */
const maxReports = 50;

interface ExchangeOptions {
  readonly records: Records;
  /** Opens the user's identity, whose signatures the reports carry. */
  readonly openIdentity: () => Promise<Identity>;
  /** Returns the id of the device that the session is bound to. */
  readonly deviceId: () => string | undefined;
}

/** Creates the exchange of what is remembered with the user's other devices. */
export function createMemoryExchange({
  records,
  openIdentity,
  deviceId,
}: ExchangeOptions): MemoryExchange {
  const inTurn = createTurns();

  async function readAll(memory: ExchangedMemory): Promise<void> {
    const progress = progressOf(memory);
    const again = { ...progress, position: 0 };
    try {
      if (!(await readFrom(memory, progress))) await readFrom(memory, again);
    } catch (error) {
      if (!(error instanceof RolledBackError) || progress.position === 0) throw error;
      // A vault that was restored counts positions anew. What is read again changes nothing.
      await readFrom(memory, again);
    }
  }

  /** Reads on. Resolves with false if the last record that was read is no longer in its place. */
  async function readFrom(memory: ExchangedMemory, from: Exchanged): Promise<boolean> {
    let { position, start, last } = from;
    const heads = { ...from.heads };
    const self = deviceId();
    const list = memory.list();
    let identity: Identity | undefined;
    const told: Record<string, RememberedChanges> = {};
    const wanted = new Map<string, number>();
    let isOnTrack = position === 0;
    let lastOfSelf = 0;
    for await (const stored of records.list(Math.max(position - 1, 0))) {
      if (!isOnTrack && stored.position !== position) return false;
      isOnTrack = true;
      position = stored.position;
      const { writer, number } = stored;
      if (writer === self) lastOfSelf = number;
      const { kind, generation } = readPrefix(stored.record) ?? {};
      // A rekey that failed may have left a list under a master key that nobody has.
      const isRead = kind === 'report' || (kind === 'list' && writer === list?.writer);
      if (!isRead || generation !== from.generation) continue;
      if (memory.recollection.isRevoked(writer, told)) continue;
      const head = heads[writer];
      if (head !== undefined && number <= head.number) {
        if (number === head.number && hashReport(stored.record) !== head.hash) {
          throw notAsRead(writer, number);
        }
        continue;
      }
      identity ??= await openIdentity();
      const report = await openReport(memory.reportKey(), identity, stored, stored.record);
      if (report === undefined || !follows(report, head)) throw notAsRead(writer, number);
      const hash = hashReport(stored.record);
      heads[writer] = { number, hash };
      if (writer === self && report.isStart) start = number;
      for (const [other, last] of Object.entries(report.read)) {
        wanted.set(other, Math.max(last, wanted.get(other) ?? 0));
      }
      told[writer] = joinReports(told[writer], memory.recollection.worthKeeping(report));
    }
    if (!isOnTrack) return false;
    last = Math.max(last, lastOfSelf);
    // The vault lost reports of this device: it tells everything anew.
    if (from.position === 0 && lastOfSelf < (heads[self ?? '']?.number ?? 0)) start = 0;
    for (const [writer, number] of wanted) {
      if ((heads[writer]?.number ?? 0) >= number) continue;
      if (!memory.recollection.isRevoked(writer, told)) throw notAsRead(writer, number);
    }
    if (list !== undefined && !isSameHead(heads[list.writer], list)) {
      throw notAsRead(list.writer, list.number);
    }
    if (position !== from.position || start !== from.start) {
      await memory.keep({ told, exchanged: { ...from, position, heads, start, last } });
    }
    return true;
  }

  async function tell(memory: ExchangedMemory, writer: string): Promise<void> {
    const { recollection } = memory;
    const { start, heads } = progressOf(memory);
    const present = heads[writer]?.number ?? 0;
    const isStart = start === 0 || present - start >= maxReports;
    const values = isStart ? recollection.seen(writer) : recollection.untold();
    const portions = splitValues(values);
    if (portions.length === 0) return;
    for (const [index, portion] of portions.entries()) {
      const isFirst = isStart && index === 0;
      const isLast = isStart && index === portions.length - 1;
      await tellOne(memory, { writer, portion, isFirst, discards: isLast });
    }
  }

  async function tellOne(
    memory: ExchangedMemory,
    { writer, portion, isFirst, discards }: Telling,
  ): Promise<void> {
    const progress = progressOf(memory);
    const { [writer]: head, ...read } = progress.heads;
    // Records under an earlier master key may still be there.
    const number = Math.max(head?.number ?? 0, progress.last) + 1;
    const start = isFirst ? number : progress.start;
    const report: Report = {
      ...portion,
      previous: head?.hash ?? null,
      isStart: isFirst,
      read: Object.fromEntries(Object.entries(read).map(([id, { number: n }]) => [id, n])),
    };
    const place = { writer, number };
    const record: Bytes = await sealReport(memory.reportKey(), await openIdentity(), place, report);
    await records.add({ ...place, record, ...(discards && { discardBefore: start }) }, writer);
    const heads = { ...progress.heads, [writer]: { number, hash: hashReport(record) } };
    const untold = memory.recollection.untoldAfter(portion);
    await memory.keep({ exchanged: { ...progress, heads, start, last: number }, untold });
  }

  return {
    read: (memory) => inTurn(() => readAll(memory)),
    restart: (memory) =>
      inTurn(async () => {
        const { generation, heads, last } = progressOf(memory);
        const self = deviceId() ?? '';
        const own = heads[self] === undefined ? {} : { [self]: heads[self] };
        await memory.keep({ exchanged: { generation, position: 0, heads: own, start: 0, last } });
      }),
    exchange: (memory) =>
      inTurn(async () => {
        await readAll(memory);
        const writer = deviceId();
        if (writer === undefined) return;
        try {
          await tell(memory, writer);
        } catch (error) {
          if (!hasCode(error, 'memory_conflict')) throw error;
          // Another session of this device, or one whose memory was lost, has told something.
          await readFrom(memory, { ...progressOf(memory), position: 0 });
          await tell(memory, writer);
        }
      }),
  };
}

interface Telling {
  readonly writer: string;
  readonly portion: RememberedChanges;
  /** Whether the report begins to tell everything. */
  readonly isFirst: boolean;
  /** Whether the reports before the first one are removed. */
  readonly discards: boolean;
}

/** Returns how far the exchange has come under the present master key. */
function progressOf(memory: ExchangedMemory): Exchanged {
  const { generation } = memory.reportKey();
  const known = memory.recollection.exchanged();
  if (known?.generation === generation) return known;
  return { generation, position: 0, heads: {}, start: 0, last: 0 };
}

/** Returns whether a report follows the last one of its writer that was read. */
function follows({ isStart, previous }: Report, head: Exchanged['heads'][string] | undefined) {
  return isStart || (head !== undefined && previous === head.hash);
}

function isSameHead(head: Exchanged['heads'][string] | undefined, { number, hash }: RekeyList) {
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
    remembered: `reports up to number ${number}`,
    shown: 'another report, or none',
  });
}
