import test, { type ExecutionContext } from 'ava';
import canonicalize from 'canonicalize';
import { followIdentity, type Recorded } from '../../../client/authorship/identity-chain.ts';
import { encodeBase64 } from '../../../client/bytes/base64.ts';
import { createIdentity, fingerprintOf, type Identity } from '../../../client/identity/identity.ts';
import { signPublication } from '../../../client/identity/publication.ts';

const names = { issuer: 'https://vault.example', owner: '01890a5d-9a01-7d3e-8f21-5c6a3f0b7e11' };

interface Change {
  readonly identity: Identity;
  readonly previous: Identity | undefined;
  /** Endorses the identity; the one before by default. */
  readonly endorser?: Identity;
}

/** Returns the entry of an identity that became the one of an account. */
function changeTo({ identity, previous, endorser = previous }: Change): Recorded {
  const before = previous === undefined ? undefined : { published: previous, signer: endorser };
  const { endorsement = null } = signPublication(names, identity, before);
  const entry = {
    issuer: names.issuer,
    action: 'sharing_key.changed',
    resource: { type: 'sharing_key', id: names.owner, owner: names.owner },
    data: {
      publicKey: encodeBase64(identity.publicKey),
      signingKey: encodeBase64(identity.signingKey),
      previousFingerprint: previous === undefined ? null : fingerprintOf(previous),
      endorsement,
    },
  };
  return { entryCanonical: canonicalize(entry) ?? '' };
}

/** Creates identities of which each replaces the one before, and the entries of the changes. */
async function createChain(length: number) {
  const identities = await Promise.all(Array.from({ length }, createIdentity));
  const changes = identities.map((identity, index) =>
    changeTo({ identity, previous: identities[index - 1] }),
  );
  return { identities, changes, fingerprints: identities.map(fingerprintOf) };
}

/** Asserts which identities follow one, in whatever order they were found. */
function assertReached(
  t: ExecutionContext,
  reached: ReadonlySet<string>,
  expected: readonly string[],
  name?: string,
): void {
  t.deepEqual([...reached].toSorted(), expected.toSorted(), name);
}

test('fifty changes are followed in any order, from any identity on', async (t) => {
  const { changes, fingerprints } = await createChain(51);
  const [first = '', ...later] = fingerprints;
  const shuffled = changes.map((_, index) => changes[(index * 20) % changes.length] ?? t.fail());
  const orders = [changes, changes.toReversed(), shuffled, [...changes, ...changes]];
  for (const order of orders) {
    assertReached(t, followIdentity(first, order), fingerprints);
    assertReached(t, followIdentity(later[24] ?? '', order), later.slice(24));
    assertReached(t, followIdentity(later.at(-1) ?? '', order), later.slice(-1));
  }
});

test('an identity is followed as far as the chain holds', async (t) => {
  const { identities, changes, fingerprints } = await createChain(10);
  const [first = ''] = fingerprints;
  const reached = fingerprints.slice(0, 5);
  assertReached(t, followIdentity(first, changes.toSpliced(5, 1)), reached, 'an entry is missing');

  const [previous, identity = t.fail(), stranger] = identities.slice(4);
  const breaks = {
    'an endorsement by a stranger': { identity, previous, endorser: stranger },
    'an endorsement by the new identity': { identity, previous, endorser: identity },
    'an endorsement by the first': { identity, previous, endorser: identities[0] },
    'another predecessor': { identity, previous: stranger },
    'no predecessor': { identity, previous: undefined },
  };
  for (const [name, change] of Object.entries(breaks)) {
    const broken = changes.with(5, changeTo(change));
    assertReached(t, followIdentity(first, broken), reached, name);
  }
});

test('every branch that an identity endorsed is followed, and no other', async (t) => {
  const { identities, changes, fingerprints } = await createChain(3);
  const [first, second] = identities;
  const [other, forged] = [await createIdentity(), await createIdentity()];
  const branches = [
    ...changes,
    changeTo({ identity: other, previous: first }),
    changeTo({ identity: forged, previous: first, endorser: second }),
  ];
  const followed = [...fingerprints, fingerprintOf(other)];
  assertReached(t, followIdentity(fingerprints[0] ?? '', branches), followed);
  assertReached(t, followIdentity(fingerprintOf(other), branches), [fingerprintOf(other)]);
});

test('identities that replace each other in a circle are followed once', async (t) => {
  const { identities, changes, fingerprints } = await createChain(3);
  const [identity = t.fail(), , previous] = identities;
  const circle = [...changes, changeTo({ identity, previous })];
  for (const fingerprint of fingerprints) {
    assertReached(t, followIdentity(fingerprint, circle), fingerprints);
  }
  const itself = changeTo({ identity, previous: identity });
  assertReached(t, followIdentity(fingerprintOf(identity), [itself]), fingerprints.slice(0, 1));
});

test('an unknown fingerprint leads nowhere, and what is no entry is ignored', async (t) => {
  const { changes, fingerprints } = await createChain(2);
  assertReached(t, followIdentity('unknown', changes), ['unknown']);
  const noise = ['', '{', 'null', '[]', '{"action":"sharing_key.changed"}'];
  const mixed = [...noise.map((entryCanonical) => ({ entryCanonical })), ...changes];
  assertReached(t, followIdentity(fingerprints[0] ?? '', mixed), fingerprints);
});
