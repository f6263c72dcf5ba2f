import { randomUUID } from 'node:crypto';
import test from 'ava';
import { createApi } from '../support/documents/uploads.ts';
import { startVault } from '../support/vault/vault.ts';

test('a user writes only so often, and reads go on, as do the writes of others', async (t) => {
  const vault = await startVault({ LIMITS_WRITE_USER: '3/1h' });
  t.teardown(() => vault.stop());
  const [api, other] = [await createApi(vault), await createApi(vault)];
  const write = () => api.send('DELETE', `/v1/documents/${randomUUID()}`);
  for (let n = 0; n < 3; n += 1) t.is((await write()).status, 404);
  const { status, body, headers } = await write();
  t.deepEqual([status, body['code']], [429, 'rate_limited']);
  t.regex(headers.get('retry-after') ?? '', /^\d+$/);
  t.is((await api.send('GET', '/v1/documents')).status, 200);
  t.is((await other.send('DELETE', `/v1/documents/${randomUUID()}`)).status, 404);
});
