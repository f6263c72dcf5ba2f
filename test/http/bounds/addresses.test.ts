import test from 'ava';
import { limitNames } from '../../../app/limits/rate-limits.ts';
import { listRoutes } from '../../../app/wiring/routes.ts';
import { assertError } from '../../support/http/error-body.ts';
import { exchange } from '../../support/http/raw-http.ts';
import { postJson } from '../../support/http/send.ts';
import { startOwnRedis } from '../../support/network/own-redis.ts';
import { startReadyVault } from '../../support/vault/vault.ts';

const email = 'somebody@example.org';
const bodies: Readonly<Record<string, object>> = {
  'register-address': { email, salt: '00'.repeat(32), verifier: '3'.repeat(64) },
  'validate-address': { token: 'none' },
};
const limited = listRoutes().flatMap(({ path, aliases = [], addressLimit: limit }) =>
  limit === undefined ? [] : [path, ...aliases].map((name) => ({ path: name, limit })),
);

for (const limit of new Set(limited.map((route) => route.limit))) {
  test(`an address that used up ${limit} is refused before its body is read`, async (t) => {
    const setting = `LIMITS_${limit.toUpperCase().replace('-', '_')}`;
    const { url } = await startOwnRedis(t);
    const vault = await startReadyVault({ [setting]: '2/1h', REDIS_URL: url });
    t.teardown(() => vault.stop());
    const paths = limited.filter((route) => route.limit === limit).map(({ path }) => path);
    const [path = ''] = paths;
    const refused = { status: 429, code: 'rate_limited' };

    const malformed = await postJson(vault.baseUrl + path, {});
    assertError(t, malformed, { status: 400, code: 'validation_failed' }, 'it is not counted');
    for (let use = 0; use < 2; use += 1) {
      t.not((await postJson(vault.baseUrl + path, bodies[limit])).status, 429);
    }
    for (const name of paths) {
      const head = `POST ${name} HTTP/1.1\r\nHost: vault.test\r\n`;
      const answer = await exchange(vault.baseUrl, `${head}Content-Length: 1000000\r\n\r\n`);
      assertError(t, answer, refused, 'the body is never sent');
      assertError(t, await postJson(vault.baseUrl + name, {}), refused);
    }
  });
}

test('every limit by address that does not depend on the body is checked before it', (t) => {
  // Whether a challenge or a failed proof is refused depends on the account, which the body names:
  // one that logged in from the address within 30 days has a count of its own.
  const names = limitNames.filter(
    (name) => name.endsWith('-address') && !['challenge-address', 'proof-address'].includes(name),
  );
  t.deepEqual(new Set(limited.map(({ limit }) => limit)), new Set(names));
});
