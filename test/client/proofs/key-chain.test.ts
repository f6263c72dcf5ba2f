import { generateKeyPairSync, hash, randomUUID, sign, type KeyObject } from 'node:crypto';
import test from 'ava';
import canonicalize from 'canonicalize';
import type { AuditKey } from '../../../client/proofs/audit-key.ts';
import { verifyKeyChain } from '../../../client/proofs/key-chain.ts';
import type { AuditProof } from '../../../client/proofs/proof-format.ts';
import { verifyProof } from '../../../client/proofs/verify-proof.ts';

interface Pair {
  readonly keyId: string;
  readonly fingerprint: string;
  readonly publicKey: string;
  readonly privateKey: KeyObject;
}

function createPair(): Pair {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const fingerprint = hash('sha256', spki);
  const keyId = fingerprint.slice(0, 32);
  return { keyId, fingerprint, publicKey: spki.toString('base64'), privateKey };
}

const activatedAt = '2026-01-01T00:00:00.000Z';
const retiredAt = '2026-12-01T00:00:00.000Z';

function prove(by: Pair, members: object, sealedAt = '2026-06-01T00:00:00.000Z'): AuditProof {
  const id = randomUUID();
  const text = canonicalize({ v: 2, id, sealedAt, ...members }) ?? '';
  return {
    id,
    entryCanonical: text,
    entryHash: hash('sha3-256', text),
    hsmSignature: sign('sha3-256', Buffer.from(text), by.privateKey).toString('base64'),
    hsmKeyId: by.keyId,
    publicKey: by.publicKey,
  };
}

function vouch(by: Pair, { keyId, publicKey }: Pair, change: object = {}): AuditProof {
  const data = { purpose: 'audit', publicKey };
  return prove(by, {
    action: 'key.created',
    resource: { type: 'key', id: keyId },
    data,
    ...change,
  });
}

function listed(pair: Pair, record: AuditProof, facts: Partial<AuditKey> = {}): AuditKey {
  const { keyId, publicKey, fingerprint } = pair;
  return {
    keyId,
    purpose: 'audit',
    algorithm: 'ECDSA-P256-SHA3-256',
    publicKey,
    fingerprint,
    generation: 1,
    imported: false,
    state: 'RETIRED',
    registeredAt: activatedAt,
    activatedAt,
    retiredAt,
    compromisedSince: null,
    record,
    compromise: null,
    vouchedBy: record.hsmKeyId === keyId ? null : record.hsmKeyId,
    ...facts,
  };
}

const [first, second, third] = [createPair(), createPair(), createPair()];
const [one, two, three] = [
  listed(first, vouch(first, first)),
  listed(second, vouch(first, second)),
  listed(third, vouch(second, third)),
] as const;
const chain = [one, two, three];
const ids = chain.map(({ keyId }) => keyId);
const compromise = { state: 'COMPROMISED', compromisedSince: retiredAt } as const;

test('a chain of keys is believed from the pinned key on', (t) => {
  for (const pinned of [first.fingerprint, first.keyId]) {
    t.deepEqual(verifyKeyChain(chain, { pinned: [pinned] }), ids);
  }
  t.deepEqual(verifyKeyChain(chain, { pinned: [second.fingerprint] }), ids.slice(1));
  t.deepEqual(verifyKeyChain(chain, { pinned: [] }), []);
});

test('a chain is not believed beyond a compromised key, unless the next key is pinned', (t) => {
  const broken = [one, { ...two, ...compromise }, three];
  t.deepEqual(verifyKeyChain(broken, { pinned: [first.fingerprint] }), ids.slice(0, 2));
  const pinned = [first.fingerprint, third.fingerprint];
  t.deepEqual(verifyKeyChain(broken, { pinned }).toSorted(), ids.toSorted());
  const [trustedKeys, keys] = [ids, broken];
  t.like(verifyProof(prove(second, {}), { trustedKeys, keys }), {
    valid: false,
    reason: 'key_compromised',
    keyState: 'COMPROMISED',
  });
  t.like(verifyProof(prove(third, {}), { trustedKeys, keys }), { valid: true, imported: false });
});

test('a record vouches only for its own key, while the key that signed it was active', (t) => {
  const pinned = [first.fingerprint];
  const late = prove(
    first,
    JSON.parse(vouch(first, second).entryCanonical) as object,
    '2027-01-01T00:00:00.000Z',
  );
  for (const [name, record] of [
    ['of another key', vouch(first, third)],
    ['of another action', vouch(first, second, { action: 'key.retired' })],
    ['of another resource', vouch(first, second, { resource: { type: 'note', id: second.keyId } })],
    [
      'of another public key',
      vouch(first, second, { data: { purpose: 'audit', publicKey: third.publicKey } }),
    ],
    [
      'of another purpose',
      vouch(first, second, { data: { purpose: 'token', publicKey: second.publicKey } }),
    ],
    ['signed by itself', vouch(second, second)],
    ['signed after the retirement', late],
  ] as const) {
    const keys = [listed(first, vouch(first, first)), listed(second, record)];
    t.deepEqual(verifyKeyChain(keys, { pinned }), [first.keyId], name);
  }
  const renamed = { ...listed(second, vouch(first, second)), keyId: third.keyId };
  t.deepEqual(verifyKeyChain([renamed], { pinned }), [first.keyId]);
});
