import { valid, wrongBoth, wrongSignature, type ProofCase } from './case.ts';
import { canonical, entry, keys, prove, proof, type CorpusKey } from './signing.ts';

const outside = wrongSignature('outside_key_validity');
const compromised = wrongSignature('key_compromised');

/** Creates a case of an entry that a key signed at an instant. */
function signedAt(
  name: string,
  description: string,
  sealedAt: string,
  expected: Pick<ProofCase, 'expected' | 'reason'>,
  key: CorpusKey = keys.first,
): ProofCase {
  const signed = prove(canonical({ ...entry, sealedAt }), key);
  return { name: `validity-${name}`, description, ...expected, proof: signed };
}

const before = entry.sealedAt;
const after = '2023-06-30T12:00:00.001Z';
const byCompromised = prove(proof.entryCanonical, keys.compromised);

/** Signatures of keys at times when they may not have signed, or by keys that others have. */
export const validityCases: ProofCase[] = [
  signedAt('at-activation', 'At the activation of its key', '2023-06-01T00:00:00.500Z', valid),
  signedAt('minute-early', 'A minute before it', '2023-05-31T23:59:00.500Z', valid),
  signedAt('too-early', 'A millisecond earlier', '2023-05-31T23:59:00.499Z', outside),
  signedAt('year-early', 'Years before it', '2016-01-01T00:00:00.000Z', outside),
  signedAt('at-retirement', 'At the retirement of its key', '2023-07-01T00:00:00.500Z', valid),
  signedAt('minute-late', 'A minute after it', '2023-07-01T00:01:00.500Z', valid),
  signedAt('too-late', 'A millisecond later', '2023-07-01T00:01:00.501Z', outside),
  signedAt('year-late', 'Years after it', '2030-01-01T00:00:00.000Z', outside),
  signedAt('impossible-day', 'On a day between that no month has', '2023-06-31T00:00:00.000Z', valid),
  signedAt('spare', 'By a key that was never activated', before, outside, keys.spare),
  signedAt('imported', 'By an imported key', before, valid, keys.imported),
  signedAt('imported-late', 'By one after its retirement', after.replace('2023', '2024'), outside, {
    ...keys.imported,
  }),
  signedAt('compromised', 'By a compromised key, dated before', before, compromised, {
    ...keys.compromised,
  }),
  signedAt('compromised-after', 'By a compromised key, dated after', after, compromised, {
    ...keys.compromised,
  }),
  {
    name: 'validity-compromised-other',
    description: 'Of a compromised key, and no signature of it',
    ...wrongSignature('signature_invalid'),
    proof: { ...byCompromised, hsmSignature: proof.hsmSignature },
  },
  {
    name: 'validity-compromised-hash',
    description: 'By a compromised key, with another hash',
    ...wrongBoth('hash_mismatch'),
    proof: { ...byCompromised, entryHash: '0'.repeat(64) },
  },
  {
    name: 'validity-outside-hash',
    description: 'By a key that was never activated, with another hash',
    ...wrongBoth('hash_mismatch'),
    proof: { ...prove(proof.entryCanonical, keys.spare), entryHash: '0'.repeat(64) },
  },
];
