import test from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { connectAs } from '../support/accounts/two-tenants.ts';
import { importKey } from '../support/audit/imported-key.ts';
import { assertError } from '../support/http/error-body.ts';
import { readRecord, startOwnKeysVault, type ListedKey } from './keys-vault.ts';

test('an imported key breaks no chain, and is called imported once it is adopted', async (t) => {
  const keys = await startOwnKeysVault(t);
  const first = await keys.activeKey('audit');
  const { keyId } = await importKey(keys.fixture, 'audit', 2);
  const second = await keys.create('audit');
  t.like(second, { generation: 3, imported: false, vouchedBy: first.keyId });
  await keys.activate(second.keyId);
  t.true((await keys.list()).every((key) => key.keyId !== keyId));
  const unknown = await keys.send('POST', `/${keyId}/activate`);
  assertError(t, unknown, { status: 404, code: 'not_found' });
  const said = () => keys.signer.output().split('a key is not used').length - 1;
  await until(() => said() > 0, { what: 'the line about the key', timeoutMs: 60_000 });

  for (let round = 0; round < 2; round += 1) {
    const { status, body } = await keys.send('POST', `/${keyId}/adopt`);
    t.is(status, 200);
    t.like(body, { keyId, generation: 2, imported: true, state: 'CREATED' });
  }
  const adopted = await until(
    async () => {
      const key = (await keys.list()).find((one) => one.keyId === keyId);
      return key !== undefined && key.record !== null && key;
    },
    { what: 'the record of the key', timeoutMs: 60_000 },
  );
  t.is(adopted.vouchedBy, second.keyId);
  t.is(said(), 1);
  t.like(readRecord(adopted.record).data, { requestedBy: 'test-admin', imported: true });
  t.like(await keys.activate(keyId), { state: 'ACTIVE', imported: true });
  t.is((await keys.create('audit')).vouchedBy, keyId);
  const imported = (key: ListedKey) => key.imported;
  t.deepEqual(
    (await keys.list()).filter(imported).map((key) => key.keyId),
    [keyId],
  );
});

test('no row of a registry can be made to call an imported key generated', async (t) => {
  const keys = await startOwnKeysVault(t);
  const { keyId } = await importKey(keys.fixture, 'audit', 2);
  t.is((await keys.send('POST', `/${keyId}/adopt`)).status, 200);
  const service = await connectAs(keys.vault.databases.service);
  t.teardown(() => service.end());
  const update = service.query('update signing_keys set imported = false');
  await t.throwsAsync(update, { message: /permission denied/ });
});

test('a key cannot be adopted that the token lacks, or whose label is taken', async (t) => {
  const keys = await startOwnKeysVault(t);
  const missing = await keys.send('POST', `/${'0'.repeat(32)}/adopt`);
  assertError(t, missing, { status: 404, code: 'not_found' });
  const { keyId } = await importKey(keys.fixture, 'token', 1);
  const taken = await keys.send('POST', `/${keyId}/adopt`);
  assertError(t, taken, { status: 409, code: 'key_label_taken' });
  t.is((await keys.send('POST', `/${'0'.repeat(31)}/adopt`)).status, 400);
  const own = await keys.activeKey('audit');
  t.like((await keys.send('POST', `/${own.keyId}/adopt`)).body, { imported: false });
});
