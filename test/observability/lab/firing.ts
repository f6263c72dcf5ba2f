import { until } from '../../../app/dev/processes/until.ts';
import type { Prometheus, Sample } from './prometheus.ts';

const waiting = { timeoutMs: 120_000, intervalMs: 200 } as const;

/** Names the alerts among samples, with their severities. */
function names(samples: readonly Sample[]): readonly string[] {
  const all = samples.map(({ labels }) => `${labels['alertname']} ${labels['severity']}`);
  return [...new Set(all)].toSorted();
}

/** The alerts that fire in a Prometheus. */
export function watchAlerts({ query }: Pick<Prometheus, 'query'>) {
  const firing = 'ALERTS{alertstate="firing"}';
  const now = async () => names(await query(firing));
  return {
    /**
     * Resolves with all alerts that have fired since, once these have fired at the same time, the
     * fault has been mended, and no alert fires any more.
     */
    async during(
      fault: () => Promise<unknown>,
      expected: readonly string[],
      mend: () => Promise<unknown>,
    ): Promise<readonly string[]> {
      const startedAt = performance.now();
      await fault();
      let seen: readonly string[] = [];
      await until(
        async () => {
          seen = await now();
          return expected.every((alert) => seen.includes(alert));
        },
        { ...waiting, what: `${expected.join(', ')} to fire` },
      ).catch((error: unknown) => {
        throw new Error(`only these fire: ${seen.join(', ')}`, { cause: error });
      });
      await mend();
      await until(
        async () => {
          seen = await now();
          return seen.length === 0;
        },
        { ...waiting, what: 'the alerts to clear' },
      ).catch((error: unknown) => {
        throw new Error(`these fire still: ${seen.join(', ')}`, { cause: error });
      });
      const ms = Math.round(performance.now() - startedAt);
      return names(await query(`max_over_time(${firing}[${ms}ms])`));
    },
  };
}
