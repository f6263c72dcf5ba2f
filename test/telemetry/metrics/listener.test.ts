import test, { type ExecutionContext } from 'ava';
import { spawnGuarded } from '../../../app/dev/processes/guarded-process.ts';
import { inheritedEnvironment, nodeProcess } from '../../../app/dev/processes/node-process.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { idleApp } from '../../config/run-program.ts';
import { parseScrape, valueOf } from '../../support/metrics/scrape.ts';

interface Line {
  readonly msg?: string;
  readonly port?: number;
}

/** Starts the app as a process, and returns the URLs of its listeners by their lines in the log. */
async function startApp(t: ExecutionContext, settings: Record<string, string>) {
  const lines: Line[] = [];
  const environment = { ...inheritedEnvironment(), ...idleApp, ...settings };
  const app = await spawnGuarded(nodeProcess('app', ['app/main.ts'], environment), {
    onLine: (line) => void lines.push(JSON.parse(line) as Line),
  });
  t.teardown(() => app.stop());
  return async (msg: string): Promise<string> => {
    const { port } = await until(() => lines.find((line) => line.msg === msg), {
      what: `the line ${msg}`,
      timeoutMs: 60_000,
    });
    return `http://127.0.0.1:${port}`;
  };
}

test('the app serves its metrics on a port of their own, and on no other', async (t) => {
  const urlOf = await startApp(t, {
    METRICS_PORT: '0',
    HTTP_INTERNAL_ROUTES: 'internal',
    HTTP_INTERNAL_PORT: '0',
  });
  for (const msg of ['listening', 'listening for internal requests']) {
    const { status } = await fetch(`${await urlOf(msg)}/metrics`);
    t.is(status, 404, msg);
  }
  const url = await urlOf('listening for scrapes');
  const response = await fetch(`${url}/metrics`);
  t.is(response.status, 200);
  t.regex(response.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
  const series = parseScrape(await response.text());
  t.is(valueOf(series, 'probatio_build_info'), 1);
  t.true(Number(valueOf(series, 'process_cpu_seconds_total')) > 0);
  const refused = { http_request_method: 'GET', http_response_status_code: '404' };
  t.is(valueOf(series, 'http_server_request_duration_seconds_count', refused), 2);
  for (const [method, path, expected] of [
    ['GET', '/', 404],
    ['GET', '/live', 404],
    ['GET', '/health/live', 404],
    ['GET', '/v1/documents', 404],
    ['POST', '/metrics', 405],
  ] as const) {
    const { status } = await fetch(url + path, { method });
    t.is(status, expected, `${method} ${path}`);
  }
});
