import test from 'ava';
import { createPowers } from '../../app/srp/powers.ts';
import { answerProof, createChallenge } from '../../app/srp/srp.ts';
import {
  computeMultiplier,
  computePremasterSecret,
  computeProofs,
  computePublicValue,
  computeVerifier,
  serviceSrp,
} from '../../client/srp/srp.ts';
import { isResidue } from './residue.ts';

const powers = createPowers();
test.after.always(() => powers.close());

const [a, x] = [0x1234_5678_9abcn, 0xfedc_ba98_7654n];
const A = computePublicValue(serviceSrp, a);
const verifier = computeVerifier(serviceSrp, x);
const kv = computeMultiplier(serviceSrp) * verifier;

test('challenges of both kinds occur for a verifier, and a client proves both', async (t) => {
  const kinds = new Set<boolean>();
  for (let time = 0; time < 40; time += 1) {
    const session = await createChallenge(powers, A, verifier);
    const B = session.serverPublic;
    const kind = isResidue(B - kv);
    if (kinds.has(kind)) continue;
    kinds.add(kind);
    const S = computePremasterSecret(serviceSrp, { a, A, B, x });
    const { M1, M2 } = computeProofs(serviceSrp, { A, B, S });
    t.deepEqual(await answerProof(powers, session, verifier, Buffer.from(M1)), Buffer.from(M2));
  }
  t.is(kinds.size, 2);
});

test('a proof over another secret is refused for both kinds of challenges', async (t) => {
  for (let time = 0; time < 8; time += 1) {
    const session = await createChallenge(powers, A, verifier);
    const B = session.serverPublic;
    const S = computePremasterSecret(serviceSrp, { a, A, B, x: x + 1n });
    const { M1 } = computeProofs(serviceSrp, { A, B, S });
    t.is(await answerProof(powers, session, verifier, Buffer.from(M1)), undefined);
  }
});
