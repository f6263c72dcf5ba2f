import { randomBytes, randomUUID } from 'node:crypto';
import { Agent, METHODS, request } from 'node:http';
import { once } from 'node:events';
import test from 'ava';
import { startReadyVault, startVault, type TestVault } from '../../support/vault/vault.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { listRoutes } from '../../../app/wiring/routes.ts';
import { createPerson } from '../../support/documents/people.ts';
import { keyOf, scrape, valueOf, type Series } from '../../support/metrics/scrape.ts';

const duration = 'http_server_request_duration_seconds';

const scrapeOf = ({ services }: TestVault) => scrape(services.metrics.registry);

/** Scrapes until a condition holds: a request is counted once its connection has the response. */
function scrapeUntil(
  vault: TestVault,
  what: string,
  holds: (series: readonly Series[]) => boolean,
) {
  return until(
    async () => {
      const series = await scrapeOf(vault);
      return holds(series) && series;
    },
    { what, timeoutMs: 60_000 },
  );
}

test('requests are counted by method, template and status, and their errors by code', async (t) => {
  const vault = await startReadyVault();
  t.teardown(() => vault.stop());
  const { api } = await createPerson(vault);
  const labels = {
    http_request_method: 'GET',
    http_route: '/v1/documents/:id',
    http_response_status_code: '404',
  };
  for (let i = 0; i < 3; i += 1) await api.send('GET', `/v1/documents/${randomUUID()}`);
  const series = await scrapeUntil(
    vault,
    'three requests',
    (found) => valueOf(found, `${duration}_count`, labels) === 3,
  );
  t.true(Number(valueOf(series, `${duration}_sum`, labels)) > 0);
  t.is(valueOf(series, 'probatio_request_errors_total', { code: 'not_found' }), 3);
  t.is(valueOf(series, 'http_server_active_requests', { http_request_method: 'GET' }), 0);
});

/** Kinds of requests that no route serves, or that a route refuses, as strangers send them. */
const kinds: readonly (() => string)[] = [
  () => `/${randomBytes(6).toString('base64url')}`,
  () => `/${Array.from({ length: 5 }, () => randomBytes(3).toString('hex')).join('/')}`,
  () => `/v1/${randomUUID()}`,
  () => `/v1/documents/${randomUUID()}`,
  () => `/v1/documents/${randomUUID()}?${randomBytes(4).toString('hex')}=${randomUUID()}`,
  () => `/v1/jobs/${randomUUID()}/${randomBytes(5).toString('hex')}`,
  () => `/%${randomBytes(1).toString('hex')}%ff`,
  () => `/metrics/${randomUUID()}`,
];

/** The methods whose requests end; the others upgrade the connection. */
const methods = [...METHODS.filter((method) => method !== 'CONNECT'), 'JAM', 'get'];

test('10,000 random paths and methods add no series', async (t) => {
  const vault = await startVault({
    HTTP_REFUSALS_PER_ADDRESS: '1000000',
    HTTP_REQUESTS_PER_CLIENT: '64',
    LOG_LEVEL: 'error',
  });
  t.teardown(() => vault.stop());
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  t.teardown(() => agent.destroy());
  const url = new URL(vault.baseUrl);
  const send = async (method: string, path: string): Promise<void> => {
    const sent = request({ agent, host: url.hostname, port: url.port, method, path });
    sent.end();
    const [response] = (await once(sent, 'response')) as [NodeJS.ReadableStream];
    response.resume();
    await once(response, 'end');
  };
  const every = methods.flatMap((method) => kinds.map((kind) => [method, kind] as const));
  await Promise.all(every.map(([method, kind]) => send(method, kind())));
  await Promise.all(every.map(([method, kind]) => send(method, kind())));
  const before = await settled(vault);
  t.true(before.size > 50);

  const random = Array.from({ length: 10_000 }, (_, index) => every[index % every.length]);
  const queue = random.values();
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (const [method, kind] of queue.filter((each) => each !== undefined)) {
        await send(method, kind());
      }
    }),
  );
  const after = await settled(vault);
  t.deepEqual(
    [...after].filter((key) => !before.has(key)),
    [],
  );
  const templates = new Set(listRoutes().map(({ path }) => path));
  const named = (await scrapeOf(vault)).flatMap(({ labels }) => labels['http_route'] ?? []);
  t.true(named.every((route) => templates.has(route)));
});

/** Metrics that the workers of the process add to, whatever requests come. */
const ofWorkers = /^(?:db_client|probatio_(?:signer|sealing|audit))_/;

/** Returns the series, but those of workers, once no request is under way. */
async function settled(vault: TestVault): Promise<ReadonlySet<string>> {
  const series = await scrapeUntil(vault, 'all requests to end', (found) =>
    found
      .filter(({ name }) => name === 'http_server_active_requests')
      .every(({ value }) => value === 0),
  );
  return new Set(series.filter(({ name }) => !ofWorkers.test(name)).map(keyOf));
}

test('the address of the API serves no metrics', async (t) => {
  const vault = await startVault({ METRICS_PORT: '0' });
  t.teardown(() => vault.stop());
  for (const path of ['/metrics', '/metrics/', '/v1/metrics']) {
    const { status } = await fetch(vault.baseUrl + path);
    t.is(status, 404, path);
  }
});
