import test from 'ava';
import { countRefusals } from '../../support/disclosure/refusals.ts';

test('a change of anything in a disclosure is refused', async (t) => {
  const refusals = await countRefusals({ numRuns: 150, seed: 1 });
  t.true(refusals.size > 6, [...refusals.keys()].join(', '));
});
