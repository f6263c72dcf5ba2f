import test from 'ava';
import { createKeyDirectory } from '../../../signer/hsm/key-directory.ts';
import type { KeyInToken } from '../../../signer/ipc/messages.ts';
import { SignerUnavailable } from '../../../signer/protocol/signer-error.ts';

test('an unknown key refreshes the list once a second, and after a clock set back', async (t) => {
  let now = Date.now();
  let refreshes = 0;
  const refresh = async () => {
    refreshes += 1;
  };
  const keys: readonly KeyInToken[] = [];
  const hsm = {
    keys,
    unadopted: keys,
    refresh,
    createKey: async () => '',
    adoptKey: async () => undefined,
  };
  const directory = createKeyDirectory({ hsm, clock: () => new Date(now) });
  const load = () =>
    t.throwsAsync(directory.load('0'.repeat(32), 'audit'), { instanceOf: SignerUnavailable });
  await load();
  await load();
  t.is(refreshes, 1);
  now += 1_000;
  await load();
  t.is(refreshes, 2);
  now -= 3_600_000;
  await load();
  t.is(refreshes, 3);
});
