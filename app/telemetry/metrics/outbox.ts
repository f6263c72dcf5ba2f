import type { Meter } from '../../../signer/protocol/metrics/meter.ts';
import { outboxKinds } from '../../outbox/outbox.ts';
import type { WaitingMessages } from '../../outbox/waiting.ts';

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
  return {
    clear(): void {
      waiting.clear();
      age.clear();
    },
    set(messages: readonly WaitingMessages[]): void {
      const found = new Map(messages.map((each) => [each.kind, each]));
      const kinds = new Set([...outboxKinds, ...found.keys()]);
      const rows = [...kinds].map((each) => [each, found.get(each)] as const);
      waiting.setAll(rows.map(([each, row]) => [{ kind: each }, row?.count ?? 0]));
      age.setAll(rows.map(([each, row]) => [{ kind: each }, row?.oldestAgeSeconds ?? 0]));
    },
  };
}
