import { once } from 'node:events';
import { createConnection, createServer, type AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { rounds, seed, seededRandom } from '../../support/runs/rounds.ts';
import { connectOwner, migrate } from '../../../app/db/migrate.ts';
import { migrationNames } from '../../../app/db/migration-names.ts';
import { complete, described, emptyDatabase, run } from './plans.ts';

/**
 * Starts a server before Postgres that breaks the connection at a message of the client: before the
 * message reaches Postgres, or right after it.
 */
async function startCutter(t: ExecutionContext, databaseUrl: string) {
  const { port, hostname } = new URL(databaseUrl);
  let left = Infinity;
  let count = 0;
  let isSent = false;
  const server = createServer((client) => {
    const upstream = createConnection(Number(port), hostname);
    for (const socket of [client, upstream]) socket.on('error', () => undefined);
    upstream.on('close', () => client.destroy()).pipe(client);
    client.on('close', () => upstream.destroy());
    client.on('data', (message) => {
      count += 1;
      left -= 1;
      if (left > 0 || isSent) upstream.write(message);
      if (left > 0) return;
      client.destroy();
      upstream.end();
    });
  });
  t.teardown(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const own = (server.address() as AddressInfo).port;
  return {
    url: Object.assign(new URL(databaseUrl), { port: own }).href,
    counted: () => count,
    cutAt(message: number, sent: boolean) {
      [left, isSent] = [message, sent];
    },
  };
}

test('migrations that were cut off at any message are completed by the next call', async (t) => {
  t.timeout(300_000);
  t.log(`SEED=${seed}`);
  const random = seededRandom(seed);
  const whole = await emptyDatabase(t);
  const counter = await startCutter(t, whole.urls.owner);
  await run(counter.url);
  t.deepEqual((await whole.admin.query(described)).rows, [complete]);
  const messages = counter.counted();
  t.true(messages > 15, `${messages} messages`);
  for (let message = 1; message <= messages; message += 1) {
    const { urls, admin } = await emptyDatabase(t);
    const cutter = await startCutter(t, urls.owner);
    cutter.cutAt(message, random() < 0.5);
    await t.throwsAsync(run(cutter.url), undefined, `message ${message}`);
    await run(urls.owner);
    t.deepEqual((await admin.query(described)).rows, [complete], `message ${message}`);
  }
});

test("the vault's own migrations, cut off anywhere, end in the same schema", async (t) => {
  t.timeout(60_000 + rounds * 120_000);
  t.log(`SEED=${seed} ROUNDS=${rounds}`);
  const random = seededRandom(seed);
  const whole = await emptyDatabase(t);
  const counter = await startCutter(t, whole.urls.owner);
  await migrate(counter.url);
  for (let round = 0; round < rounds; round += 1) {
    const { urls, admin } = await emptyDatabase(t);
    const cutter = await startCutter(t, urls.owner);
    const message = 1 + Math.floor(random() * counter.counted());
    cutter.cutAt(message, random() < 0.5);
    await t.throwsAsync(migrate(cutter.url), undefined, `message ${message}`);
    await migrate(urls.owner);
    const { rows } = await admin.query<{ name: string }>('select name from migrations order by id');
    t.deepEqual(
      rows.map(({ name }) => name),
      migrationNames,
    );
    const orm = await connectOwner(urls.owner);
    t.is(await orm.schema.getUpdateSchemaSQL({ wrap: false }), '', `message ${message}`);
    await orm.close();
  }
});
