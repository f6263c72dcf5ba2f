import { randomUUID } from 'node:crypto';
import test from 'ava';
import { checkClaims } from '../../signer/requests/signable-claims.ts';
import { SignerRefused, SignerUnavailable } from '../../signer/protocol/signer-error.ts';

const now = new Date();
const circumstances = { now, issuers: ['https://vault.test'] };
const iat = Math.floor(now.getTime() / 1000);
const claims = {
  iss: 'https://vault.test',
  sub: randomUUID(),
  aud: 'vault',
  iat,
  exp: iat + 300,
  jti: randomUUID(),
  purpose: 'reauth',
};

test('a reauthentication token with a lifetime of five minutes is signed', (t) => {
  t.deepEqual(checkClaims('reauth+jwt', claims, circumstances), {
    typ: 'reauth+jwt',
    sub: claims.sub,
  });
});

const refused: Record<string, object> = {
  'a lifetime over five minutes': { ...claims, exp: iat + 301 },
  'another purpose': { ...claims, purpose: 'login' },
  'no purpose': { ...claims, purpose: undefined },
  'several audiences': { ...claims, aud: ['vault', 'elsewhere'] },
  'the rights of an access token': { ...claims, authz: { roles: ['user'], scopes: [] } },
};
for (const [what, wrong] of Object.entries(refused)) {
  test(`a reauthentication token with ${what} is not signed`, (t) => {
    t.throws(() => checkClaims('reauth+jwt', wrong, circumstances), {
      instanceOf: SignerRefused,
      code: 'not_permitted',
    });
  });
}

for (const seconds of [600, -200]) {
  test(`a reauthentication token of a time ${seconds} s from now is a fault of clocks`, (t) => {
    const wrong = { ...claims, iat: iat + seconds, exp: iat + seconds + 100 };
    t.throws(() => checkClaims('reauth+jwt', wrong, circumstances), {
      instanceOf: SignerUnavailable,
      code: 'clock_skew',
    });
  });
}
