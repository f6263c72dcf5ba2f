import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { RegistryKey } from '../../../k8s/vault/answers.ts';
import type { Outcome } from '../../../k8s/vault/failure.ts';
import { createSimulatedVault } from '../support/simulated-vault.ts';

const statusOf: Readonly<Record<string, number>> = { not_found: 404, signer_unavailable: 503 };

/**
 * Serves a simulated vault with one pod on loopback, as the app's internal listener would. It notes
 * who asks, by the internal API keys of the processes.
 */
export async function serveVault(internalKeys: Readonly<Record<string, string>>) {
  const askers: { readonly name: string; readonly at: number }[] = [];
  const simulated = createSimulatedVault(() => new Date());
  simulated.addPod();
  const { vault } = simulated;
  const origin = 'http://10.0.0.1:8081';

  async function answer(request: IncomingMessage): Promise<Outcome<unknown>> {
    const path = `${request.method} ${request.url}`;
    const presented = request.headers['x-internal-api-key'];
    const [name] = Object.entries(internalKeys).find(([, key]) => key === presented) ?? [];
    if (name === undefined) return { failure: { code: 'internal_key_required' } };
    askers.push({ name, at: Date.now() });
    if (path === 'GET /v1/internal/keys') return publish(await vault.listKeys(origin));
    if (path === 'GET /v1/internal/signer') return vault.readHeldKeys(origin);
    if (path === 'GET /v1/internal/maintenance') return { ok: maintenance };
    if (path === 'POST /v1/internal/keys') {
      const { generation } = JSON.parse(await text(request)) as { generation: number };
      return asWire(await vault.createKey(origin, 'audit', generation));
    }
    const [, keyId] = /^POST \/v1\/internal\/keys\/([0-9a-f]{32})\/activate$/.exec(path) ?? [];
    if (keyId === undefined) return { failure: { code: 'not_found' } };
    return asWire(await vault.activateKey(origin, keyId));
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const outcome = await answer(request);
    response.setHeader('Content-Type', 'application/json');
    if ('ok' in outcome) return void response.end(JSON.stringify(outcome.ok));
    const { code, retryAfterSeconds } = outcome.failure;
    if (retryAfterSeconds !== undefined) response.setHeader('Retry-After', retryAfterSeconds);
    response.statusCode = statusOf[code] ?? 409;
    response.end(JSON.stringify({ code }));
  }

  const server = createServer((request, response) => void respond(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    simulated,
    /** Every request so far: the name of its process, and when it came in milliseconds. */
    askers,
    port: (server.address() as AddressInfo).port,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

const maintenance = {
  tasks: [{ task: 'verify-log', lastRun: null, lastSuccess: null }],
  backlog: { unsigned: 3, oldestAt: null },
  deadLetters: { pending: 0, oldestAt: null },
};

function asWire(outcome: Outcome<RegistryKey>): Outcome<unknown> {
  return 'ok' in outcome ? { ok: wireKey(outcome.ok) } : outcome;
}

function publish(outcome: Outcome<{ readonly keys: readonly RegistryKey[] }>): Outcome<unknown> {
  return 'ok' in outcome ? { ok: { keys: outcome.ok.keys.map(wireKey) } } : outcome;
}

function wireKey({ isRecorded, ...key }: RegistryKey): object {
  return { ...key, record: isRecorded ? {} : null };
}
