import test from 'ava';
import { createKeyDirectory } from '../../../signer/hsm/key-directory.ts';
import type { KeyInToken } from '../../../signer/hsm/messages.ts';
import { SignerUnavailable } from '../../../signer/protocol/signer-error.ts';

test('the token is looked at for an unknown key once a second, and after a clock was set back', async (t) => {
  let now = Date.now();
  let looks = 0;
  const refresh = async () => {
    looks += 1;
  };
  const keys: readonly KeyInToken[] = [];
  const hsm = { keys, refresh, createKey: async () => '' };
  const directory = createKeyDirectory({ hsm, clock: () => new Date(now) });
  const look = () =>
    t.throwsAsync(directory.load('0'.repeat(32), 'audit'), { instanceOf: SignerUnavailable });
  await look();
  await look();
  t.is(looks, 1);
  now += 1_000;
  await look();
  t.is(looks, 2);
  now -= 3_600_000;
  await look();
  t.is(looks, 3);
});
