import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'ava';
import { sql } from 'kysely';
import { openDatabase } from '../../app/db/database.ts';
import { spawnGuarded } from '../../app/dev/processes/guarded-process.ts';
import { inheritedEnvironment, nodeProcess } from '../../app/dev/processes/node-process.ts';
import { until } from '../../app/dev/processes/until.ts';
import { createOutbox } from '../../app/outbox/outbox.ts';
import { startOutboxWorker } from '../../app/outbox/worker.ts';
import { createWakeSignal } from '../../app/async/wake-signal.ts';
import { createLog } from '../../app/telemetry/log.ts';
import { startProxiedDatabase } from '../support/network/proxied-database.ts';
import { emailHandlers, mailTo } from './email-handlers.ts';
import { untilThere } from './empty-outbox.ts';

test('a message whose worker died before erasing it is handled again under its id', async (t) => {
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-outbox-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const database = await startProxiedDatabase();
  t.teardown(() => database[Symbol.asyncDispose]());
  const { DATABASE_URL: url, DATABASE_SERVICE_URL: serviceUrl } = database.settings;
  const db = await openDatabase({ url, serviceUrl, poolSize: 2 });
  t.teardown(() => db.close());
  await untilThere(db);
  const outbox = createOutbox({ onCommitted: () => undefined });
  await db.asService((tx) => outbox.add(tx, 'email', mailTo('a')));

  const file = path.join(directory, 'done');
  const program: [string, ...string[]] = ['test/outbox/killed-worker.ts', file, url, serviceUrl];
  const killed = await spawnGuarded(nodeProcess('worker', program, inheritedEnvironment()), {
    onLine: (line) => t.log(line),
  });
  t.is((await killed.exited).signal, 'SIGKILL');
  const id = await readFile(file, 'utf8');

  const again: string[] = [];
  const worker = startOutboxWorker({
    db,
    log: createLog('silent'),
    signal: createWakeSignal(),
    handlers: emailHandlers(async (_mail, messageId) => void again.push(messageId)),
  });
  t.teardown(() => worker.stop());
  const leased = await db.asService((tx) => tx.selectFrom('outbox').selectAll().execute());
  t.is(leased.length, 1, 'the message is still stored');
  t.true((leased[0]?.available_at ?? new Date(0)) > new Date(), 'the message is leased');
  await db.asService((tx) =>
    tx
      .updateTable('outbox')
      .set({ available_at: sql`now()` })
      .execute(),
  );
  await until(() => again.length > 0, { what: 'the second delivery', timeoutMs: 60_000 });
  t.deepEqual(again, [id]);
});
