import test from 'ava';
import { sharedVault } from '../../support/vault/shared-vault.ts';
import { dataOf, set, shareObject } from './devices.ts';

const vault = sharedVault();

test('an edit may mutate the data that it gets, and the mutation is sent', async (t) => {
  const { one, two, id } = await shareObject(vault, { tags: ['a'], at: { x: 1 } });
  await two.sync.change(id, (data) => {
    (data['tags'] as string[]).push('b');
    (data['at'] as Record<string, unknown>)['x'] = 2;
    return data;
  });
  t.like(await two.sync.sync(), { sent: 1 });
  await one.sync.sync();
  for (const { sync } of [one, two]) {
    t.deepEqual(await dataOf(sync, id), { tags: ['a', 'b'], at: { x: 2 } });
  }
});

test('a text that is ill-formed UTF-16 synchronises unchanged', async (t) => {
  const { one, two, id } = await shareObject(vault, { a: 'cut \ud83d', b: ['\udc00'] });
  await set(two.sync, id, { a: 'whole' });
  await two.sync.sync();
  await one.sync.sync();
  t.deepEqual(await dataOf(one.sync, id), { a: 'whole', b: ['\udc00'] });
});
