import test from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { dashboards } from '../../charts/dashboards/render.ts';
import { groups } from '../../charts/monitoring/render.ts';
import type { Dead } from '../audit/dlq/dead-letters.ts';
import { createAccount, openSession } from '../support/accounts/test-account.ts';
import { watchAlerts } from './lab/firing.ts';
import { useVault } from './lab/life.ts';
import { namespace, startObservedVault, type ObservedVault } from './lab/observed-vault.ts';

const resources = new AsyncDisposableStack();
const present: { observed?: ObservedVault } = {};
const nothing = async () => undefined;

/** Returns the vault, whose start has failed if it is missing. */
function observed() {
  if (present.observed === undefined) throw new Error('the vault has not started');
  return { ...present.observed, alerts: watchAlerts(present.observed.prometheus) };
}

test.before(async (t) => {
  t.timeout(120_000);
  present.observed = await startObservedVault(resources);
});
test.after.always(() => resources.disposeAsync());

test.serial('nothing fires in a vault that works, and its requests have exemplars', async (t) => {
  const { dlq, prometheus, receiver, alerts } = observed();
  const { vault } = dlq;
  const live = async () => {
    await useVault(t, vault);
    const exemplar = await until(
      async () => {
        const labels = await prometheus.exemplars('http_server_request_duration_seconds_bucket');
        return labels.find(({ trace_id: traceId }) =>
          receiver.spans.some((span) => span.traceId === traceId),
        );
      },
      { what: 'an exemplar of a trace', timeoutMs: 60_000, intervalMs: 200 },
    );
    t.deepEqual(Object.keys(exemplar).toSorted(), ['span_id', 'trace_id']);
  };
  t.deepEqual(await alerts.during(live, [], nothing), []);
});

test.serial('a signer that is gone fires its alerts, which clear once it is back', async (t) => {
  const { signer, alerts } = observed();
  const expected = ['SignerDown critical', 'TargetAbsent critical', 'UnsealedBacklog critical'];
  const fired = await alerts.during(
    () => signer.kill(),
    expected,
    () => signer.restart(),
  );
  t.deepEqual(fired, expected);
});

test.serial('a wrong PIN fires the alerts of a signer that runs and cannot sign', async (t) => {
  const { signer, wrongPin, prometheus, alerts } = observed();
  const expected = ['SignerDown critical', 'UnsealedBacklog critical'];
  const fired = await alerts.during(
    async () => {
      await signer.kill();
      await signer.restart(wrongPin);
    },
    expected,
    async () => {
      const [state] = await prometheus.query('signer_token_state{state="pin_incorrect"}');
      t.is(state?.value, 1);
      await signer.kill();
      await signer.restart();
    },
  );
  t.deepEqual(fired, expected);
});

test.serial('without Redis requests fail, which only the error budget shows', async (t) => {
  const { dlq, redis, prometheus, alerts } = observed();
  const failed = 'namespace:probatio_failed_requests:ratio_rate5m > 0';
  const account = await createAccount(dlq.vault);
  const logIn = () =>
    openSession(dlq.vault, account).then(
      () => true,
      () => false,
    );
  const fault = async () => {
    await redis.kill();
    await until(async () => !(await logIn()) && (await prometheus.query(failed)).length > 0, {
      what: 'failed requests to be recorded',
      timeoutMs: 60_000,
      intervalMs: 200,
    });
  };
  const mend = async () => {
    await redis.restart();
    await until(logIn, { what: 'a login to succeed', timeoutMs: 60_000, intervalMs: 200 });
  };
  t.deepEqual(await alerts.during(fault, [], mend), []);
});

test.serial('without Postgres the alerts say that they are blind', async (t) => {
  const { postgres, alerts } = observed();
  const expected = ['ReadingsStale critical'];
  const fired = await alerts.during(
    () => postgres.kill(),
    expected,
    () => postgres.start(),
  );
  t.deepEqual(fired, expected);
});

test.serial('a full disk of Postgres fires the alerts of tasks that go unrecorded', async (t) => {
  const { postgres, prometheus, alerts } = observed();
  const expected = ['MaintenanceStale warning', 'PurgeStale warning'];
  const fault = async () => {
    await postgres.fillDisk();
    const refused = 'db_client_operation_duration_seconds_count{error_type="resources"}';
    await until(async () => (await prometheus.query(refused)).length > 0, {
      what: 'a statement that Postgres had no room for',
      timeoutMs: 60_000,
      intervalMs: 200,
    });
  };
  const fired = await alerts.during(fault, expected, () => postgres.clearDisk());
  // The entries that were written last may wait for seals, which have no room either.
  const others = fired.filter((alert) => alert !== 'UnsealedBacklog critical');
  t.deepEqual(others, expected);
});

test.serial('a dead letter fires its alert until it is retried', async (t) => {
  const { dlq, alerts } = observed();
  const letters: Dead[] = [];
  const dead = async () => letters.push(await dlq.killOne());
  const mend = async () => {
    for (const letter of letters) await dlq.mend(letter);
    t.is((await dlq.ask('POST', 'retry')).status, 200);
  };
  t.deepEqual(await alerts.during(dead, ['DLQStale warning'], mend), ['DLQStale warning']);
});

test.serial('tasks that nobody runs fire their alert until they succeed', async (t) => {
  const { scheduler, alerts } = observed();
  const fired = await alerts.during(
    async () => scheduler.pause(),
    ['PurgeStale warning'],
    async () => scheduler.resume(),
  );
  t.deepEqual(fired, ['PurgeStale warning']);
});

test.serial('every query of a dashboard has data', async (t) => {
  const { prometheus } = observed();
  const queries = dashboards.flatMap(({ title, rows }) =>
    rows.flatMap(({ panels }) =>
      panels.flatMap((panel) =>
        panel.queries
          // No operator runs here: test/cluster/operator.labtest.ts has one.
          .filter(({ expr }) => !expr.includes('operator_'))
          .map(({ expr }) => ({ expr, name: `${title}: ${panel.title}` })),
      ),
    ),
  );
  t.true(queries.length > 50);
  const silent: string[] = [];
  for (const { expr, name } of queries) {
    const asked = expr.replaceAll('$__rate_interval', '10m').replaceAll('$namespace', namespace);
    if ((await prometheus.query(asked)).length === 0) silent.push(`${name}: ${expr}`);
  }
  t.deepEqual(silent, []);
});

/** Matches what a rule selects: a name, and its matchers of labels. */
const selection =
  /\b(?:(?:http_server|probatio|signer)_[a-z0-9_]+|up|namespace:[a-z_:0-9]+)\b(?:\{[^}]*\})?/g;

test.serial('everything that a rule selects has data', async (t) => {
  const { prometheus } = observed();
  const rules = groups.flatMap(({ recording, alerting }) => [recording, alerting].flat());
  const selected = new Set(rules.flatMap(({ expr }) => expr.match(selection) ?? []));
  t.true(selected.size > 20);
  const silent: string[] = [];
  for (const each of selected) {
    const found = await prometheus.query(`last_over_time(${each}[10m])`);
    if (found.length === 0) silent.push(each);
  }
  t.deepEqual(silent, []);
});
