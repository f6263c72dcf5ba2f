import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { trustKey } from '../../support/accounts/trusted-key.ts';
import { startVaultProcesses } from '../../support/processes/vault-processes.ts';
import { percentile, round, type Bench } from '../harness/bench.ts';
import { startBenchStack } from '../harness/bench-stack.ts';
import { insertStored } from './stored.ts';

const fewDocuments = 1_000;
const manyDocuments = 100_000;
/** The greatest p95 with many documents, in multiples of the p95 with few. */
const limit = 1.5;
const warmUps = 50;
const requestsEach = 300;
const auth = { issuer: 'https://vault.test', audience: 'probatio' };
const storageBytes = 10_000_000;

interface Ask {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly body?: object;
}

const upload = (fileSize: number) => ({
  fileName: 'a',
  mimeType: 'application/octet-stream',
  fileSize,
  totalParts: 1,
});

const asks: Record<string, Ask> = {
  init: { method: 'POST', path: '/v1/uploads', body: upload(1), status: 201 },
  quota: { method: 'POST', path: '/v1/uploads', body: upload(2 * storageBytes), status: 429 },
  list: { method: 'GET', path: '/v1/documents?limit=10', status: 200 },
  usage: { method: 'GET', path: '/v1/usage', status: 200 },
};

/**
 * Measures requests of a user with 100,000 documents against those of a user with 1,000 in the same
 * vault: opening an upload, the refusal of one, a list and the usage. The users take turns, one
 * request at a time. The figure is the worst ratio of p95s.
 */
export const benchPlans: Bench = async (progress) => {
  await using stack = await startBenchStack();
  await using vault = await startVaultProcesses(stack, {
    settings: {
      HTTP_PUBLIC_URL: auth.issuer,
      AUTH_AUDIENCE: auth.audience,
      PLANS_STANDARD_OPEN_UPLOADS: '1000000',
      PLANS_STANDARD_STORAGE_BYTES: String(storageBytes),
    },
  });
  const [few, many] = [randomUUID(), randomUUID()];
  await insertStored(vault.databases, few, fewDocuments);
  await insertStored(vault.databases, many, manyDocuments);
  progress(`${manyDocuments} documents inserted`);
  const key = await trustKey({ ...vault, config: { auth } });
  const tokens = {
    few: await key.sign({ sub: few }),
    many: await key.sign({ sub: many }),
  };
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });

  const figures: Record<string, number> = {};
  const ratios: number[] = [];
  for (const [name, ask] of Object.entries(asks)) {
    const times = { few: [] as number[], many: [] as number[] };
    for (let turn = 0; turn < warmUps + requestsEach; turn += 1) {
      for (const who of turn % 2 === 0 ? (['few', 'many'] as const) : (['many', 'few'] as const)) {
        const ms = await measure(agent, vault.baseUrl, tokens[who], ask);
        if (turn >= warmUps) times[who].push(ms);
      }
    }
    const [p95Few, p95Many] = [percentile(times.few, 0.95), percentile(times.many, 0.95)];
    ratios.push(p95Many / p95Few);
    figures[`${name}FewMs`] = round(p95Few, 2);
    figures[`${name}ManyMs`] = round(p95Many, 2);
    progress(`${name}: p95 ${round(p95Few, 2)} ms, with many documents ${round(p95Many, 2)} ms`);
  }
  agent.destroy();
  const worst = Math.max(...ratios);
  return {
    ours: round(worst),
    reference: limit,
    unit: 'p95 ratio',
    ratio: round(limit / worst),
    ...figures,
    fewDocuments,
    manyDocuments,
  };
};

/** Sends a request, and resolves with the milliseconds until the last byte of its response. */
async function measure(agent: Agent, baseUrl: string, token: string, ask: Ask): Promise<number> {
  const { method, path, status, body } = ask;
  const startedAt = performance.now();
  const outgoing = request(baseUrl + path, {
    agent,
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
  }).end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  const answer = await text(response);
  const ms = performance.now() - startedAt;
  if (response.statusCode !== status) throw new Error(`${path}: ${answer}`);
  return ms;
}
