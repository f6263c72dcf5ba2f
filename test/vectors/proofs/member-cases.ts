import type { AuditProof } from '../../../client/proofs/proof-format.ts';
import { malformed, wrongBoth, wrongHash, wrongSignature, type ProofCase } from './case.ts';
import { otherProof, proof } from './signing.ts';

const members = [
  'id',
  'entryCanonical',
  'entryHash',
  'hsmSignature',
  'hsmKeyId',
  'publicKey',
] as const;
type Member = (typeof members)[number];
type Expected = Pick<ProofCase, 'expected' | 'reason'>;

/** The defect that is found in a well-formed but wrong member. */
const found: Record<Member, Expected> = {
  id: wrongHash('id_mismatch'),
  entryCanonical: wrongBoth('hash_mismatch'),
  entryHash: wrongHash('hash_mismatch'),
  hsmSignature: wrongSignature('signature_invalid'),
  hsmKeyId: wrongSignature('key_id_mismatch'),
  publicKey: wrongSignature('key_id_mismatch'),
};

const emptied: Record<Member, Expected> = {
  ...found,
  id: malformed,
  entryCanonical: malformed,
  entryHash: malformed,
  hsmKeyId: malformed,
};

const shortened: Record<Member, Expected> = {
  ...found,
  id: malformed,
  entryCanonical: wrongBoth('not_canonical'),
  entryHash: malformed,
  hsmKeyId: malformed,
};

const spaced: Record<Member, Expected> = {
  ...shortened,
  hsmSignature: malformed,
  publicKey: malformed,
};

function change(
  member: Member,
  name: string,
  what: string,
  value: unknown,
  expected: Expected,
): ProofCase {
  return {
    name: `${member}-${name}`,
    description: `${member} ${what}`,
    ...expected,
    proof: { ...proof, [member]: value },
  };
}

function alter({ id, entryCanonical, entryHash, hsmSignature, hsmKeyId, publicKey }: AuditProof) {
  return {
    id: changeHex(id),
    entryCanonical: entryCanonical.replace('"size":128', '"size":129'),
    entryHash: changeHex(entryHash),
    hsmSignature: flipLastBit(hsmSignature),
    hsmKeyId: changeHex(hsmKeyId),
    publicKey: flipLastBit(publicKey),
  };
}

function cut({ id, entryCanonical, entryHash, hsmSignature, hsmKeyId, publicKey }: AuditProof) {
  return {
    id: id.slice(0, -1),
    entryCanonical: entryCanonical.slice(0, -1),
    entryHash: entryHash.slice(0, -1),
    hsmSignature: withoutLastByte(hsmSignature),
    hsmKeyId: hsmKeyId.slice(0, -1),
    publicKey: withoutLastByte(publicKey),
  };
}

function changeHex(text: string): string {
  return text.slice(0, -1) + (text.endsWith('0') ? '1' : '0');
}

function flipLastBit(base64: string): string {
  const bytes = Buffer.from(base64, 'base64');
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
  return bytes.toString('base64');
}

function withoutLastByte(base64: string): string {
  return Buffer.from(base64, 'base64').subarray(0, -1).toString('base64');
}

/**
 * Cases in which one member of a valid proof is changed, for every member and every kind of change.
 */
export const memberCases: ProofCase[] = members.flatMap((member) => [
  {
    name: `${member}-missing`,
    description: `${member} is not there`,
    ...malformed,
    proof: Object.fromEntries(Object.entries(proof).filter(([name]) => name !== member)),
  },
  change(member, 'null', 'is null', null, malformed),
  change(member, 'number', 'is a number', 1, malformed),
  change(member, 'true', 'is true', true, malformed),
  change(member, 'array', 'is its text in an array', [proof[member]], malformed),
  change(member, 'object', 'is an object', {}, malformed),
  change(member, 'empty', 'is empty', '', emptied[member]),
  change(member, 'altered', 'differs in one bit or character', alter(proof)[member], found[member]),
  change(
    member,
    'swapped',
    'is that of another valid proof, by another key',
    otherProof[member],
    member === 'entryCanonical' ? wrongBoth('id_mismatch') : found[member],
  ),
  change(member, 'cut', 'has lost its end', cut(proof)[member], shortened[member]),
  change(member, 'line-feed', 'ends in a line feed', `${proof[member]}\n`, spaced[member]),
  change(member, 'space', 'begins with a space', ` ${proof[member]}`, spaced[member]),
  change(member, 'nul', 'ends in U+0000', `${proof[member]}\0`, malformed),
  {
    name: `${member}-surrogate`,
    description: `${member} ends in half a surrogate pair`,
    ...malformed,
    text: JSON.stringify({ ...proof, [member]: `${proof[member]}\ud800` }),
  },
]);

for (const member of ['id', 'entryHash', 'hsmKeyId'] as const) {
  const upper = proof[member].toUpperCase();
  memberCases.push(change(member, 'upper-case', 'is in upper case', upper, malformed));
}
