import type { Meter } from '../../../signer/protocol/metrics/meter.ts';
import { outboxKinds } from '../../outbox/outbox.ts';
import type { ParkedMessages } from '../../outbox/parked.ts';
import type { WaitingMessages } from '../../outbox/waiting.ts';

/** The messages of the outbox that are not done, by kind. */
interface OutboxReading {
  readonly waiting: readonly WaitingMessages[];
  readonly parked: readonly ParkedMessages[];
}

/** Creates the metrics of the outbox, which are read from the database. */
export function createOutboxMetrics(meter: Meter) {
  const kind = {
    values: outboxKinds as readonly string[],
    description: 'the side effect: ' + outboxKinds.map((each) => `\`${each}\``).join(', '),
  };
  const waiting = meter.gauge({
    name: 'probatio_outbox_messages',
    help: 'Side effects that are due and not carried out yet',
    labels: { kind },
  });
  const age = meter.gauge({
    name: 'probatio_outbox_oldest_age_seconds',
    help: 'How long the oldest of them has waited since it was promised; 0 if there is none',
    labels: { kind },
  });
  const parked = meter.gauge({
    name: 'probatio_outbox_parked_messages',
    help: 'Side effects that failed too often and wait for `drain-outbox`',
    labels: { kind },
  });
  return {
    clear(): void {
      for (const each of [waiting, age, parked]) each.clear();
    },
    set(reading: OutboxReading): void {
      const counts = byKind(reading.parked);
      parked.setAll(counts.map(([each, row]) => [{ kind: each }, row?.count ?? 0]));
      const rows = byKind(reading.waiting);
      waiting.setAll(rows.map(([each, row]) => [{ kind: each }, row?.count ?? 0]));
      age.setAll(rows.map(([each, row]) => [{ kind: each }, row?.oldestAgeSeconds ?? 0]));
    },
  };
}

/** Returns the row of each kind, with the kinds that have none. */
function byKind<Row extends { readonly kind: string }>(
  messages: readonly Row[],
): readonly (readonly [string, Row | undefined])[] {
  const found = new Map(messages.map((each) => [each.kind, each]));
  const kinds = new Set([...outboxKinds, ...found.keys()]);
  return [...kinds].map((each) => [each, found.get(each)] as const);
}
