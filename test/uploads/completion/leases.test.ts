import { setTimeout as delay } from 'node:timers/promises';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { pauseAt, untilWaiting } from '../../support/accounts/paused-statement.ts';
import { bytesOf, complete, fileOf, openSession, putPart } from '../../support/documents/files.ts';
import { startReplica } from '../../support/documents/replica.ts';
import { createApi, type Answer, type Api } from '../../support/documents/uploads.ts';
import { startTcpProxy } from '../../support/network/tcp-proxy.ts';
import { startVault, type TestVault } from '../../support/vault/vault.ts';

const test = anyTest as TestFn<{ readonly vault: TestVault }>;

test.before(async (t) => {
  t.context = { vault: await startVault() };
});
test.after.always((t) => t.context.vault.stop());

interface Interrupted {
  /** Where Postgres goes away, as the event of a trigger. */
  readonly at: string;
  /** The path, body and headers of the POST that Postgres interrupts. */
  readonly path: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a request to a replica whose Postgres goes away for three seconds meanwhile. */
async function interrupt(
  t: ExecutionContext<{ readonly vault: TestVault }>,
  api: Api,
  { at, path, body = {}, headers = {} }: Interrupted,
): Promise<void> {
  const { vault } = t.context;
  const proxy = await startTcpProxy(vault.databases.app);
  const replica = await startReplica(vault, { DATABASE_URL: proxy.url });
  t.teardown(async () => {
    await replica.process.stop();
    await proxy.close();
  });
  const paused = await pauseAt(vault, at);
  const lost = fetch(replica.baseUrl + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${api.token}`,
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify(body),
  });
  await untilWaiting(vault, 1);
  await proxy.close();
  t.is((await lost).status, 503);
  await paused.end();
  await delay(3_000);
  await proxy.open();
}

/** Repeats a request while it is refused with 409, and returns its last answer. */
async function untilTaken(send: () => Promise<Answer>): Promise<Answer> {
  const until = performance.now() + 10_000;
  let answer = await send();
  while (answer.status === 409 && performance.now() < until) {
    await delay(200);
    answer = await send();
  }
  return answer;
}

test.serial('an upload can be completed soon after Postgres was away', async (t) => {
  const api = await createApi(t.context.vault);
  const sessionId = await openSession(t, api, 10);
  await putPart(api, sessionId, 1, bytesOf(10));
  await interrupt(t, api, {
    at: 'update of status on upload_sessions',
    path: `/v1/uploads/${sessionId}/complete`,
  });
  t.is((await untilTaken(() => complete(api, sessionId))).status, 200);
});

test.serial('a key can be used again soon after Postgres was away', async (t) => {
  const api = await createApi(t.context.vault);
  const [path, json, headers] = ['/v1/uploads', fileOf(10), { 'idempotency-key': 'a-key' }];
  await interrupt(t, api, { at: 'insert on upload_sessions', path, body: json, headers });
  t.is((await untilTaken(() => api.send('POST', path, { json, headers }))).status, 201);
});
