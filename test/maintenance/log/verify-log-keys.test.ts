import test from 'ava';
import { send } from '../../support/http/send.ts';
import { startKeysVault } from '../../signing-keys/keys-vault.ts';

test('what a key signed before it was known to be compromised is no damage', async (t) => {
  const keys = await startKeysVault();
  t.teardown(() => keys.stop());
  const { keyId } = await keys.activeKey('audit');
  const successor = await keys.create('audit');
  const { status, text } = await keys.send('POST', `/${keyId}/compromise`, {
    since: '2026-01-01T00:00:00.000Z',
    successor: successor.keyId,
  });
  t.is(status, 200, text);
  const run = await send('POST', `${keys.vault.baseUrl}/v1/internal/maintenance/verify-log`, {
    headers: { 'X-Internal-Api-Key': keys.internalKey },
  });
  t.is(run.status, 200, run.text);
  t.like(run.body, { damagedEntries: 0, missingEntries: 0 });
  t.true(Number((run.body as Record<string, unknown>)['checkedEntries']) > 2);
});
