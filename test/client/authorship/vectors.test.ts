import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import test from 'ava';
import { projectFile } from '../../../app/dev/files/project.ts';
import { signStatement, Statement } from '../../../client/authorship/statement.ts';
import { verifyAuthor } from '../../../client/authorship/verify-author.ts';
import { decodeBase64, encodeBase64 } from '../../../client/bytes/base64.ts';
import { fingerprintOf, publicIdentityOf } from '../../../client/identity/identity.ts';
import { isEndorsedBy, signPublication } from '../../../client/identity/publication.ts';
import { temporaryDirectory } from '../../support/processes/processes.ts';
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

test('the OpenSSL commands of docs/formats.md verify these statements', async (t) => {
  const formats = await readFile(projectFile('docs/formats.md'), 'utf8');
  const [, after = ''] = formats.split('OpenSSL 3 verifies the author');
  const commands = /(?:\n {4}.*)+/.exec(after)?.[0] ?? t.fail();
  const publicKey = encodeBase64(first.signingKey);
  const verify = async (statement: string, signature: string) => {
    const cwd = await temporaryDirectory(t);
    const env = { ...process.env, statement, signature, publicKey };
    return promisify(execFile)('sh', ['-c', commands], { cwd, env });
  };
  for (const [index, { statement, signature }] of statements.entries()) {
    t.regex((await verify(statement, signature)).stdout, /Verified Successfully/);
    const other = statements.at(index - 1)?.signature ?? t.fail();
    await t.throwsAsync(verify(statement, other));
  }
});

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
