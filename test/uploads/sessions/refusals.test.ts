import anyTest, { type TestFn } from 'ava';
import { fileOf, MiB } from '../../support/documents/files.ts';
import { createApi } from '../../support/documents/uploads.ts';
import { sharedVault } from '../../support/vault/shared-vault.ts';
import type { Vault } from '../../support/vault/vault.ts';

const test = anyTest as TestFn<{ readonly vault: Vault }>;

test.before(async (t) => {
  t.context = { vault: sharedVault() };
});

test('a refused upload names the values that are allowed', async (t) => {
  const api = await createApi(t.context.vault);
  const refusals: [object, path: string, message: string][] = [
    [
      { mimeType: 'text/html' },
      'mimeType',
      'must be one of application/octet-stream; text/html came',
    ],
    [
      { fileSize: 5 * 2 ** 30 + 1 },
      'fileSize',
      'must be at most 5368709120 bytes; 5368709121 came',
    ],
    [{ fileSize: 10, totalParts: 2 }, 'totalParts', 'must be from 1 to 1 for 10 bytes; 2 came'],
    [{ fileSize: 100 * MiB + 1 }, 'totalParts', 'must be from 2 to 21 for 104857601 bytes; 1 came'],
    [
      { fileSize: 100 * MiB, totalParts: 21 },
      'totalParts',
      'must be from 1 to 20 for 104857600 bytes; 21 came',
    ],
    [
      { fileSize: 5 * 2 ** 30 },
      'totalParts',
      'must be from 52 to 1000 for 5368709120 bytes; 1 came',
    ],
  ];
  for (const [change, path, message] of refusals) {
    const { status, body } = await api.send('POST', '/v1/uploads', {
      json: { ...fileOf(10), ...change },
    });
    t.is(status, 400);
    t.deepEqual(body.details, [{ path, message }], JSON.stringify(change));
  }
  const { body } = await api.send('POST', '/v1/uploads', { json: fileOf(10, 1001) });
  t.regex(JSON.stringify(body.details), /totalParts.*1000/);
});
