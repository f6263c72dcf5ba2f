import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { Client } from 'pg';
import { createPoolClient } from '../../../app/db/pool/pool-client.ts';
import { createSilence } from '../../../app/db/pool/silence.ts';
import { trustKey, type TrustedKey } from '../../support/accounts/trusted-key.ts';
import {
  startVaultProcesses,
  type VaultProcesses,
} from '../../support/processes/vault-processes.ts';
import { median, percentile, round, type Bench } from '../harness/bench.ts';
import { startBenchStack } from '../harness/bench-stack.ts';
import { writeBare } from './bare-writes.ts';
import { headersOf, insertObjects, insertPeople, withClient, type Person } from './people.ts';

/**
 * Number of writers. Each writes versions of one object in sequence, on a connection of its own.
 */
const writers = 8;
const writesEach = 500;
const warmUps = 300;
const rounds = 5;
const reads = 200;
const changed = 10;
const few = 10_000;
const many = process.env['BIG'] === 'true' ? 1_000_000 : 100_000;
const agent = new Agent({ keepAlive: true });
const auth = { issuer: 'https://vault.test', audience: 'probatio' };

/** Returns the class of clients that prepare statements, as the app does. */
function preparingClient(url: string): typeof Client {
  const silence = createSilence();
  const [loginMs, statementMs] = [60_000, 60_000];
  return createPoolClient({
    url,
    loginMs,
    statementMs,
    silence,
    onAnswered: () => undefined,
    onUnprepared: () => undefined,
  });
}

/**
 * Measures writes over HTTP against the same statements through bare pg, in turns, and through pg
 * with prepared statements as the app uses it; also the p95 of reading ten changes among many
 * objects against the p95 among few.
 */
export const benchSync: Bench = async (progress) => {
  await using stack = await startBenchStack();
  await using vault = await startVaultProcesses(stack, {
    settings: {
      HTTP_PUBLIC_URL: auth.issuer,
      AUTH_AUDIENCE: auth.audience,
      AUDIT_BACKLOG_LIMIT: '100000000',
    },
  });
  const key = await trustKey({ ...vault, config: { auth } });
  const insert = (count: number) =>
    withClient(vault.databases.service, (client) => insertPeople(client, count));
  const people = await insert(writers);

  const http: Rate[] = [];
  const bare: Rate[] = [];
  const prepared: Rate[] = [];
  const bareWriters = (PgClient: typeof Client) =>
    Promise.all(people.map((person) => bareWriter(vault, key, person, PgClient)));
  for (let turn = 0; turn < rounds; turn += 1) {
    http.push(await measure(await Promise.all(people.map((p) => httpWriter(vault, key, p)))));
    bare.push(await measure(await bareWriters(Client)));
    prepared.push(await measure(await bareWriters(preparingClient(vault.databases.app))));
    const [ours, plain, named] = [http, bare, prepared].map((all) =>
      round(all.at(-1)?.rate ?? 0, 0),
    );
    progress(`writes/s: ${ours}, bare ${plain}, prepared ${named}`);
  }
  const [ours, reference, preparedReference] = [http, bare, prepared].map((all) =>
    median(all.map(({ rate }) => rate)),
  ) as [number, number, number];

  const [withFew, withMany] = await insert(2);
  if (withFew === undefined || withMany === undefined)
    throw new Error('two people should have been inserted');
  await insertObjects(vault.databases, withFew, few);
  await insertObjects(vault.databases, withMany, many);
  progress(`${many} objects inserted`);
  const fewMs = await readChanges(vault, key, withFew, few);
  const manyMs = await readChanges(vault, key, withMany, many);
  return {
    ours: round(ours, 0),
    reference: round(reference, 0),
    unit: 'writes/s',
    // The speed of a machine may drift during a run, but hardly within a round.
    ratio: round(median(http.map(({ rate }, turn) => rate / (bare[turn]?.rate ?? Number.NaN)))),
    p95Ms: round(median(http.map(({ p95Ms }) => p95Ms)), 1),
    preparedReference: round(preparedReference, 0),
    bareP95Ms: round(median(bare.map(({ p95Ms }) => p95Ms)), 1),
    writers,
    fewObjects: few,
    manyObjects: many,
    readFewP95Ms: round(fewMs, 2),
    readManyP95Ms: round(manyMs, 2),
    readRatio: round(fewMs / manyMs),
  };
};

interface Rate {
  readonly rate: number;
  readonly p95Ms: number;
}

/** Writes the next version of one object. */
interface Writer extends AsyncDisposable {
  write(): Promise<void>;
}

async function measure(all: readonly Writer[]): Promise<Rate> {
  await Promise.all(all.map((writer) => repeat(writer, warmUps)));
  const startedAt = performance.now();
  const times = (await Promise.all(all.map((writer) => repeat(writer, writesEach)))).flat();
  const seconds = (performance.now() - startedAt) / 1000;
  for (const writer of all) await writer[Symbol.asyncDispose]();
  return { rate: times.length / seconds, p95Ms: percentile(times, 0.95) };
}

async function repeat(writer: Writer, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const startedAt = performance.now();
    await writer.write();
    times.push(performance.now() - startedAt);
  }
  return times;
}

async function httpWriter(vault: VaultProcesses, key: TrustedKey, person: Person): Promise<Writer> {
  const post = await createPost(vault, key, person);
  const objectId = randomUUID();
  let version = 1;
  await post('/v1/sync/create', { objectId, data: { a: 0, b: 2 } });
  return {
    async write() {
      const delta = { a: version };
      await post('/v1/sync', { objectId, version: version + 1, baseVersion: version, delta });
      version += 1;
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
}

async function bareWriter(
  vault: VaultProcesses,
  key: TrustedKey,
  person: Person,
  PgClient: typeof Client,
): Promise<Writer> {
  const objectId = randomUUID();
  await (
    await createPost(vault, key, person)
  )('/v1/sync/create', { objectId, data: { a: 0 } });
  const client = new PgClient({ connectionString: vault.databases.app });
  client.on('error', () => undefined);
  await client.connect();
  return {
    write: () => writeBare(client, person, objectId),
    [Symbol.asyncDispose]: () => client.end(),
  };
}

async function createPost(vault: VaultProcesses, key: TrustedKey, person: Person) {
  const headers = await headersWith(key, person);
  return async (path: string, body: object): Promise<void> => {
    // Unlike fetch, `request` takes little of the processor time that the bench shares with the
    // vault.
    const sent = request(vault.baseUrl + path, {
      method: 'POST',
      agent,
      headers: { ...headers, 'content-type': 'application/json' },
    }).end(JSON.stringify(body));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const answer = await text(response);
    if (response.statusCode !== 200 && response.statusCode !== 201) {
      throw new Error(`${path}: ${answer}`);
    }
  };
}

/** Resolves with the p95 of reading the ten newest changes. Throws unless there are ten. */
async function readChanges(
  { baseUrl }: VaultProcesses,
  key: TrustedKey,
  person: Person,
  objects: number,
): Promise<number> {
  const headers = await headersWith(key, person);
  const times: number[] = [];
  for (let n = 0; n < reads + warmUps; n += 1) {
    const startedAt = performance.now();
    const response = await fetch(`${baseUrl}/v1/sync?since=${objects - changed}`, { headers });
    const found = (await response.json()) as { readonly objects: readonly unknown[] };
    const { length } = found.objects;
    if (length !== changed) throw new Error(`read ${length} changes instead of ${changed}`);
    if (n >= warmUps) times.push(performance.now() - startedAt);
  }
  return percentile(times, 0.95);
}

async function headersWith(key: TrustedKey, person: Person) {
  const { userId, sessionId } = person;
  return headersOf(await key.sign({ sub: userId, sid: sessionId }), person);
}
