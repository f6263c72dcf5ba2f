import { randomUUID } from 'node:crypto';
import { trustKey } from '../../support/accounts/trusted-key.ts';
import { startVaultProcesses } from '../../support/processes/vault-processes.ts';
import type { TestStack } from '../../support/vault/stack.ts';
import { percentile, round, type Bench } from '../harness/bench.ts';
import { startBenchStack } from '../harness/bench-stack.ts';
import { insertEvidence, pickDocuments, randomKeyword } from './evidence.ts';
import { createTimedClient, type TimedAnswer, type TimedRead } from './timed-client.ts';

const userCount = 1_000;
const fewDocuments = 10_000;
const manyDocuments = 1_000_000;
/** Warm-up requests of each kind to each set, not counted; then one request for every user. */
const warmUps = 100;
/** The greatest p95 over many documents, in multiples of the p95 over few. */
const limit = 3;
const pageSize = 10;
const auth = { issuer: 'https://vault.test', audience: 'probatio' };

/** Builds the request of a user who has this document. */
type Read = (userId: string, documentId: string) => TimedRead;

const reads: Record<string, Read> = {
  all: (userId) => search({ all: [randomKeyword(userId), randomKeyword(userId)] }),
  any: (userId) => search({ any: Array.from({ length: 3 }, () => randomKeyword(userId)) }),
  mixed: (userId) =>
    search({
      all: [randomKeyword(userId)],
      any: [randomKeyword(userId), randomKeyword(userId)],
    }),
  list: () => ({ path: `/v1/documents?limit=${pageSize}` }),
  get: (_userId, documentId) => ({ path: `/v1/documents/${documentId}` }),
};

function search(body: object): TimedRead {
  return { path: `/v1/documents/search?limit=${pageSize}`, body };
}

/**
 * Measures search, list and get in a vault with a million documents against one with ten thousand,
 * both of a thousand users: the worst ratio of p95s, against the limit of 3. The two vaults take
 * turns, one request at a time.
 */
export const benchSearch: Bench = async (progress) => {
  await using stack = await startBenchStack();
  const users = Array.from({ length: userCount }, () => randomUUID());
  await using few = await openSet(stack, users, fewDocuments, progress);
  await using many = await openSet(stack, users, manyDocuments, progress);

  const figures: Record<string, number> = {};
  const ratios: number[] = [];
  for (const [name, read] of Object.entries(reads)) {
    const answers = { few: [] as TimedAnswer[], many: [] as TimedAnswer[] };
    for (const [turn, userId] of [...users.slice(0, warmUps), ...users].entries()) {
      const ofFew = await few.ask(userId, read);
      const ofMany = await many.ask(userId, read);
      if (turn < warmUps) continue;
      answers.few.push(ofFew);
      answers.many.push(ofMany);
    }
    const [p95Few, p95Many] = [percentile95(answers.few), percentile95(answers.many)];
    const ratio = p95Many / p95Few;
    ratios.push(ratio);
    figures[`${name}Items`] = round(meanItems(answers.many), 1);
    figures[`${name}FewMs`] = round(p95Few, 2);
    figures[`${name}ManyMs`] = round(p95Many, 2);
    figures[`${name}Ratio`] = round(ratio, 2);
    progress(`${name}: p95 ${round(p95Few, 2)} ms, with many documents ${round(p95Many, 2)} ms`);
  }

  const worst = Math.max(...ratios);
  return {
    ours: round(worst),
    reference: limit,
    unit: 'p95 ratio',
    ratio: round(limit / worst),
    ...figures,
    users: userCount,
    fewDocuments,
    manyDocuments,
  };
};

interface DocumentSet extends AsyncDisposable {
  /** Sends one request as that user. */
  ask(userId: string, read: Read): Promise<TimedAnswer>;
}

async function openSet(
  stack: TestStack,
  users: readonly string[],
  documents: number,
  progress: (line: string) => void,
): Promise<DocumentSet> {
  await using resources = new AsyncDisposableStack();
  const vault = resources.use(
    await startVaultProcesses(stack, {
      settings: { HTTP_PUBLIC_URL: auth.issuer, AUTH_AUDIENCE: auth.audience },
    }),
  );
  const startedAt = performance.now();
  await insertEvidence(vault.databases, users, documents);
  progress(`${documents} documents in ${round((performance.now() - startedAt) / 1000, 0)} s`);
  const documentOf = await pickDocuments(vault.databases);
  const key = await trustKey({ ...vault, config: { auth } });
  const client = createTimedClient(vault.baseUrl);
  resources.defer(() => client.close());

  const running = resources.move();
  return {
    async ask(userId, read) {
      const token = await key.sign({ sub: userId });
      return client.read(token, read(userId, documentOf.get(userId) ?? ''));
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function percentile95(answers: readonly TimedAnswer[]): number {
  return percentile(
    answers.map(({ ms }) => ms),
    0.95,
  );
}

/**
 * Returns the mean number of items. Throws if all responses were empty, as nothing was measured
 * then.
 */
function meanItems(answers: readonly TimedAnswer[]): number {
  const items = answers.reduce((sum, answer) => sum + answer.items, 0);
  if (items === 0) throw new Error('no request found any document');
  return items / answers.length;
}
