import { randomBytes } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import { z } from 'zod';
import { blobSource } from '../../client/files/byte-source.ts';
import { createHttp, parseAnswer } from '../../client/http/http.ts';
import { createDeviceKey } from '../../client/keys/device-key.ts';
import { passwordMethod } from '../../client/login/login-method.ts';
import { proveLogin } from '../../client/login/login-proof.ts';
import { createNodeHash } from '../../client/node/hash.ts';
import { TokenPair } from '../../client/sessions/tokens.ts';
import { createInMemoryStore } from '../../client/sync/stores/in-memory-store.ts';
import { createVaultClient } from '../../client/vault.ts';
import { logIn, type Account, type User } from '../faults/vault/user.ts';
import { noRetries, openTwice } from './device-load.ts';

/** An account, and the addresses of two processes of different releases. */
interface SideBySide {
  readonly account: Account;
  readonly from: string;
  readonly to: string;
}

const httpOf = (baseUrl: string) =>
  createHttp({ baseUrl, fetch: globalThis.fetch, retry: noRetries, now: () => new Date() });

const userAt = (baseUrl: string, account: Account, fetch = globalThis.fetch) =>
  logIn({ baseUrl }, account, { fetch, retry: noRetries });

/** Sends each request to the other one of two addresses than the one before it. */
function alternate(from: string, to: string): typeof globalThis.fetch {
  let sent = 0;
  return (input, init) => {
    const { pathname, search } = new URL(input instanceof Request ? input.url : input);
    sent += 1;
    return fetch(new URL(pathname + search, sent % 2 === 0 ? from : to), init);
  };
}

/** Asserts that one release takes what the other one has begun or made. */
export async function assertTaken(t: ExecutionContext, options: SideBySide): Promise<void> {
  await assertLoginsTaken(t, options);
  await assertDocumentsTaken(t, options);
  await assertKeysTaken(t, options);
  await assertCursorsTaken(t, options);
}

/** Logs in at both at once, and refreshes the tokens of one at the other. */
async function assertLoginsTaken(t: ExecutionContext, options: SideBySide): Promise<void> {
  const { account, from, to } = options;
  const [here, there] = [httpOf(from), httpOf(to)];
  const { email, password: secret } = account;
  const proof = await proveLogin(here, { email, method: passwordMethod, secret });
  const { body } = await there.send({
    method: 'POST',
    path: '/v1/auth/login/verify',
    json: proof.evidence,
  });
  proof.verifyServer(z.object({ M2: z.string() }).parse(body).M2);
  let pair = parseAnswer(TokenPair, body);
  for (const http of [here, there, here]) {
    await http.send({ method: 'GET', path: '/v1/documents', headers: bearer(pair) });
    const { refreshToken } = pair;
    const refresh = { method: 'POST', path: '/v1/auth/refresh', json: { refreshToken } } as const;
    pair = await http.json(TokenPair, refresh);
  }
  await there.send({ method: 'POST', path: '/v1/auth/logout', headers: bearer(pair) });
  await t.throwsAsync(
    here.send({
      method: 'POST',
      path: '/v1/auth/refresh',
      json: { refreshToken: pair.refreshToken },
    }),
    { code: 'invalid_refresh_token' },
  );
}

const bearer = ({ accessToken }: TokenPair) => ({ authorization: `Bearer ${accessToken}` });

/** Stores documents with each request at the other one; reads and verifies a seal of one there. */
async function assertDocumentsTaken(t: ExecutionContext, options: SideBySide): Promise<void> {
  const { account, from, to } = options;
  const user = await userAt(from, account, alternate(from, to));
  const ids = [await store(user), await store(user)];
  const [certified = ''] = ids;
  const here = await userAt(from, account);
  const there = await userAt(to, account);
  const { proof } = await here.session.certifyDocument(certified);
  t.deepEqual(await there.session.proofs.get(proof.id), proof);
  t.like(await there.session.proofs.verifyExternal(proof), { valid: true });
  t.deepEqual((await there.session.certifyDocument(certified)).proof, proof);
  const listed: string[] = [];
  for await (const { id } of user.session.documents.list({ pageSize: 1 })) listed.push(id);
  t.deepEqual(
    ids.filter((id) => !listed.includes(id)),
    [],
  );
  t.is(new Set(listed).size, listed.length);
}

async function store({ session, masterKey }: User): Promise<string> {
  const { id } = await session.storeDocument({
    source: blobSource(new Blob([randomBytes(1_000)])),
    masterKey,
    name: 'evidence.bin',
    mediaType: 'application/octet-stream',
  });
  return id;
}

/** Repeats a request under its key at the other one. */
async function assertKeysTaken(t: ExecutionContext, options: SideBySide): Promise<void> {
  const { account, from, to } = options;
  const [here, there] = [await userAt(from, account), await userAt(to, account)];
  const [first, again] = await openTwice(here.session.http, there.session.http);
  t.is(again.headers.get('idempotency-replayed'), 'true');
  t.deepEqual(again.body, first.body);
}

/** Goes on at the other one from the cursor that a device has of one. */
async function assertCursorsTaken(t: ExecutionContext, options: SideBySide): Promise<void> {
  const { account, from, to } = options;
  const { session, masterKey } = await userAt(from, account);
  const open = async (baseUrl: string, deviceId: string, memory = createInMemoryStore()) => {
    const client = createVaultClient({ baseUrl, retry: noRetries, createHash: createNodeHash });
    const onDevice = await client.login({ ...account, deviceId });
    return onDevice.sync({ masterKey, deviceId, schemaVersion: 1, store: memory });
  };
  const [writer, reader] = [createDeviceKey(), createDeviceKey()];
  for (const device of [writer, reader]) {
    await session.devices.add({ ...device, name: 'Phone', platform: 'Linux' });
  }
  const written = await open(from, writer.deviceId);
  const objectId = await written.create({ data: { count: 0 } });
  await written.sync();
  const kept = createInMemoryStore();
  await (await open(from, reader.deviceId, kept)).sync();
  await written.change(objectId, () => ({ count: 1 }));
  await written.sync();
  const read = await open(to, reader.deviceId, kept);
  t.like(await read.sync(), { received: 1 });
  t.deepEqual((await read.get(objectId))?.data, { count: 1 });
}
