import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { projectFile } from '../../app/dev/files/project.ts';
import { until } from '../../app/dev/processes/until.ts';
import { startSigner } from '../../app/dev/signer/signer.ts';
import { testStack } from '../support/vault/stack.ts';

/** Starts a signer whose metrics have a port, and returns the URL of that listener. */
async function startScraped(t: ExecutionContext, settings: Record<string, string> = {}) {
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-signer-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const lines: string[] = [];
  const signer = await startSigner({
    environment: {
      ...testStack().signerEnvironment,
      ...settings,
      SIGNER_METRICS_PORT: '0',
      SIGNER_SOCKET_PATH: path.join(directory, 'signer.sock'),
    },
    output: { onLine: (line) => void lines.push(line) },
  });
  t.teardown(() => signer.stop());
  const line = await until(() => lines.find((each) => each.includes('"listening for scrapes"')), {
    what: 'the line with the port',
    timeoutMs: 60_000,
  });
  const { port } = JSON.parse(line) as { readonly port: number };
  return `http://127.0.0.1:${port}`;
}

test('the signer serves its metrics on a port of their own', async (t) => {
  const url = await startScraped(t);
  // The HSM process reports its calls a moment after them.
  const login = 'signer_pkcs11_operation_duration_seconds_count{operation="C_Login"} 1\n';
  await until(async () => (await scrape(url)).includes(login), {
    what: 'the signer to report its login',
    timeoutMs: 60_000,
  });
  const text = await scrape(url);
  t.regex(text, /^signer_token_state\{state="ready"\} 1$/m);
  t.regex(text, /^signer_sessions_max 8$/m);
  t.regex(text, /^process_cpu_seconds_total /m);
});

test('a signer is live for as long as it answers, whatever its HSM does', async (t) => {
  const url = await startScraped(t, { SIGNER_LIBRARY: projectFile('package.json') });
  await until(async () => (await scrape(url)).includes('signer_token_state{state="ready"} 0'), {
    what: 'the state of the token',
    timeoutMs: 60_000,
  });
  const { status } = await fetch(`${url}/live`);
  t.is(status, 200);
});

test('the port of the metrics serves nothing else', async (t) => {
  const url = await startScraped(t);
  for (const [method, target, expected] of [
    ['GET', '/', 404],
    ['GET', '/v1/keys', 404],
    ['GET', '/metrics/', 404],
    ['POST', '/v1/seal', 404],
    ['POST', '/metrics', 405],
    ['DELETE', '/live', 405],
  ] as const) {
    const { status } = await fetch(`${url}${target}`, { method });
    t.is(status, expected, `${method} ${target}`);
  }
});

async function scrape(url: string): Promise<string> {
  const response = await fetch(`${url}/metrics`);
  return response.text();
}
