import { createTurns } from '../../async/turns.ts';
import type { Bytes } from '../../bytes/bytes.ts';
import { hasCode } from '../../errors/vault-error.ts';
import type { Identity } from '../../identity/identity.ts';
import type { ExchangedMemory, MemoryExchange } from './memory-exchange.ts';
import type { Exchanged, RememberedChanges } from '../values/remembered.ts';
import { RolledBackError } from '../values/rolled-back-error.ts';
import { splitValues } from './portions.ts';
import type { Records } from './records.ts';
import { readReports } from './read-reports.ts';
import { hashReport, sealReport, type Report } from './report.ts';

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

  /**
   * Reads on, or everything again: a vault that was restored counts positions anew. What is read
   * again changes nothing.
   */
  async function readAll(memory: ExchangedMemory): Promise<void> {
    let progress = progressOf(memory);
    for (;;) {
      try {
        if (await readFrom(memory, progress)) return;
      } catch (error) {
        if (!(error instanceof RolledBackError) || progress.position === 0) throw error;
      }
      progress = { ...progressOf(memory), position: 0 };
    }
  }

  const readFrom = (memory: ExchangedMemory, from: Exchanged) =>
    readReports({ records, openIdentity, self: deviceId() }, memory, from);

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
