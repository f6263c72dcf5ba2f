import test from 'ava';
import { signStatement, Statement } from '../../../client/authorship/statement.ts';
import { verifyAuthor } from '../../../client/authorship/verify-author.ts';
import { decodeBase64 } from '../../../client/bytes/base64.ts';
import { fingerprintOf, publicIdentityOf } from '../../../client/identity/identity.ts';
import { isEndorsedBy, signPublication } from '../../../client/identity/publication.ts';
import { authorshipVectors } from './vectors.ts';

const { issuer, owner, identities, statements, changes, cases } = authorshipVectors;
const [first, second] = identities;
const names = { issuer, owner };

test('identities have the keys and fingerprints of the test vectors', (t) => {
  for (const identity of identities) {
    const { publicKey, signingKey, fingerprint } = identity;
    t.deepEqual(publicIdentityOf(identity), { publicKey, signingKey });
    t.is(fingerprintOf(identity), fingerprint);
  }
});

test('an identity proves itself, and endorses the next one, as the test vectors do', (t) => {
  const { proofOfPossession } = first;
  t.deepEqual(signPublication(names, first, undefined), { proofOfPossession });
  const lost = { published: first, signer: undefined };
  const { proofOfPossession: proof, endorsement } = second;
  t.deepEqual(signPublication(names, second, lost), { proofOfPossession: proof });
  const signed = signPublication(names, second, { published: first, signer: first });
  t.deepEqual(signed, { proofOfPossession: proof, endorsement: endorsement ?? t.fail() });
});

test('an endorsement holds for one identity, account, vault and predecessor', (t) => {
  const endorsement = decodeBase64(second.endorsement ?? t.fail());
  const publication = { ...names, identity: second };
  t.true(isEndorsedBy(first, publication, endorsement));
  t.false(isEndorsedBy(second, publication, endorsement));
  t.false(isEndorsedBy(first, { ...publication, identity: first }, endorsement));
  t.false(isEndorsedBy(first, { ...publication, owner: issuer }, endorsement));
  t.false(isEndorsedBy(first, { ...publication, issuer: owner }, endorsement));
  const possession = decodeBase64(second.proofOfPossession);
  t.false(isEndorsedBy(second, publication, possession), 'a signature of another kind');
});

for (const { name, statement, signature } of statements) {
  test(`an author states as the test vectors do: ${name}`, (t) => {
    const { v, issuer, owner, publicKey, statedAt, ...act } = Statement.parse(
      JSON.parse(statement),
    );
    t.deepEqual({ v, issuer, owner }, { v: 1, ...names });
    t.deepEqual(decodeBase64(publicKey), first.signingKey);
    const signed = signStatement(first, names, act, new Date(statedAt));
    t.deepEqual(signed, { statement, signature });
  });
}

for (const { name, entry, expectedFingerprint, identityChanges, verdict } of cases) {
  test(`the verdict on an author is that of the test vectors: ${name}`, (t) => {
    const author = verifyAuthor(
      { entryCanonical: entry },
      {
        fingerprint: expectedFingerprint ?? undefined,
        identityChanges: identityChanges.map((change) => ({
          entryCanonical: changes[change] ?? t.fail(),
        })),
      },
    );
    const said: string = author.standing === 'invalid' ? author.reason : author.standing;
    t.is(said, verdict);
  });
}
