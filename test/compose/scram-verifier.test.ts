import { createHash, createHmac } from 'node:crypto';
import test from 'ava';
import { createScramVerifier } from '../../compose/scram-verifier.ts';

/** The exchange of RFC 7677 §3: user `user`, password `pencil`. */
const salt = 'W22ZaJ0SNY7soEsUEjb6gQ==';
const nonce = 'rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0';
const message = `n=user,r=rOprNGfwEbeRWgbNEkqO,r=${nonce},s=${salt},i=4096,c=biws,r=${nonce}`;
const clientProof = 'dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=';
const serverSignature = '6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=';

const sign = (key: Buffer) => createHmac('sha256', key).update(message).digest();

test('a verifier accepts the proof of the password, and signs as RFC 7677 prints', (t) => {
  const verifier = createScramVerifier('pencil', Buffer.from(salt, 'base64'));
  const [, stored = '', server = ''] =
    /^SCRAM-SHA-256\$4096:W22ZaJ0SNY7soEsUEjb6gQ==\$(.*):(.*)$/.exec(verifier) ?? [];
  const storedKey = Buffer.from(stored, 'base64');
  const mask = sign(storedKey);
  const clientKey = Buffer.from(clientProof, 'base64').map((byte, i) => byte ^ (mask[i] ?? 0));
  t.deepEqual(createHash('sha256').update(clientKey).digest(), storedKey);
  t.is(sign(Buffer.from(server, 'base64')).toString('base64'), serverSignature);
});

test('two verifiers of a password differ', (t) => {
  t.not(createScramVerifier('pencil'), createScramVerifier('pencil'));
});
