import test from 'ava';
import { countRefusals } from '../../support/disclosure/refusals.ts';
import { rounds, seed } from '../../support/runs/rounds.ts';

test('no changed disclosure is taken for what was sealed', async (t) => {
  t.log(`SEED=${seed} ROUNDS=${rounds}`);
  const refusals = await countRefusals({ numRuns: rounds * 1_000, seed });
  t.log(Array.from(refusals, ([reason, times]) => `${reason} ${times}`).join(', '));
  t.true(refusals.size > 6);
});
