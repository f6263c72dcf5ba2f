import test from 'ava';
import { z } from 'zod';
import { listRoutes } from '../../../app/wiring/routes.ts';
import { boundedAnswers } from '../../support/bounds/bounded-answers.ts';
import { insertGreatestRows, type GreatestRows } from '../../support/bounds/greatest-rows.ts';
import { createDevice, type SyncDevice } from '../../support/sync/devices.ts';
import { createApi } from '../../support/documents/uploads.ts';
import { createKeyFile, type KeyFile } from '../../support/vault/key-file.ts';
import { createSql } from '../../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';

let vault: TestVault;
let keys: KeyFile;
let device: SyncDevice;
let token: string;
let rows: GreatestRows;

const count = 40;

test.before(async () => {
  keys = await createKeyFile();
  vault = await startReadyVault({ INTERNAL_API_KEYS_FILE: keys.path });
  device = await createDevice(vault);
  const { caller } = device.api;
  const scopes = ['documents:read', 'uploads:write', 'keys:manage', 'audit:read', 'sync:read'];
  const as = { ...caller, roles: ['user', 'operator'], scopes: [...scopes, 'jobs:submit'] };
  token = (await createApi(vault, as)).token;
  const registered = await vault.services.registry.list();
  const { keyId = '' } = registered.find(({ purpose }) => purpose === 'audit') ?? {};
  rows = await insertGreatestRows(createSql(vault), caller, { count, keyId });
});
test.after.always(async () => {
  await vault.stop();
  await keys.remove();
});

/** Returns whether a JSON Schema allows a list or a record of any length. */
function isOpenEnded(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  const { type, maxItems, additionalProperties } = schema as Record<string, unknown>;
  if (type === 'array' && maxItems === undefined) return true;
  if (typeof additionalProperties === 'object') return true;
  return Object.values(schema).some(isOpenEnded);
}

/** Returns whether a response is a stream, or may have a list or a record of any length. */
function describe(response: z.ZodType | undefined) {
  if (response === undefined) return { isStream: false, isOpenEnded: false };
  const schema = z.toJSONSchema(response, { unrepresentable: 'any', io: 'input' });
  return { isStream: response instanceof z.ZodCustom, isOpenEnded: isOpenEnded(schema) };
}

for (const { method, path: pattern, response, maxAnswerBytes, query } of listRoutes()) {
  const name = `${method.toUpperCase()} ${pattern}`;
  const { isStream, isOpenEnded: isLong } = describe(response);
  const isPaged = query instanceof z.ZodObject && 'limit' in query.shape;
  test(`${name} states the bound of its answer, if that is a list or a stream`, (t) => {
    t.is(maxAnswerBytes !== undefined, isStream || isLong);
  });

  const ask = boundedAnswers[name];
  const isList = maxAnswerBytes !== undefined && !isStream && method === 'get';
  if (ask === undefined) {
    test(`${name} needs no request with rows of the greatest size`, (t) => {
      t.false(isList || isPaged, 'add one to test/support/bounds/bounded-answers.ts');
    });
    continue;
  }
  test(`${name} keeps its bound with rows of the greatest size`, async (t) => {
    const { path, json } = ask(rows);
    const response = await fetch(vault.baseUrl + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        'x-device-id': device.deviceId,
        'x-internal-api-key': keys.admin,
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: json === undefined ? null : JSON.stringify(json),
    });
    const text = await response.text();
    t.is(response.status, 200, text.slice(0, 300));
    // A stream states the bytes of a chunk; test/faults/memory holds that it is no more in memory.
    const maxBytes = isStream ? Infinity : (maxAnswerBytes ?? 2 ** 12);
    t.true(Buffer.byteLength(text) <= maxBytes, `${text.length} bytes`);
  });
}
