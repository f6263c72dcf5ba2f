import test from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { createAccount, logIn } from '../faults/vault/user.ts';
import { createComposeVault } from '../support/compose/compose-vault.ts';
import { codeOf } from '../support/mfa/mfa-user.ts';

const limitMs = 600_000;

test('the profiles of docker-compose.yml add second factors, and alerts', async (t) => {
  t.timeout(limitMs);
  const settings = { KEYCLOAK_PORT: '8180', COMPOSE_PROFILES: 'keycloak,observability' };
  const vault = await createComposeVault(t, settings);
  const { compose } = vault;
  await compose('run', '--rm', 'secrets');
  const { code, text } = await compose('up', '--wait');
  t.is(code, 0, text);

  const account = await createAccount(vault);
  const { session } = await logIn(vault, account);
  const { secret } = await session.mfa.begin();
  const recoveryCodes = await session.mfa.confirm(codeOf(secret));
  t.is(recoveryCodes.length, 15);
  t.like(await session.mfa.status(), { enabled: true, recoveryCodesRemaining: 15 });

  const up = await until(() => queryPrometheus('sum by (namespace) (up)'), {
    what: 'a scrape',
    timeoutMs: 60_000,
  });
  t.deepEqual(up, [{ metric: { namespace: 'compose' }, value: '1' }]);
  const { groups } = (await askPrometheus('rules')) as {
    groups: { rules: { health: string }[] }[];
  };
  const rules = groups.flatMap((group) => group.rules);
  t.true(rules.length > 20);
  t.deepEqual(
    rules.filter(({ health }) => health === 'err'),
    [],
  );

  // Keycloak shares the network of the app, which ends with the process of the app.
  t.is((await compose('restart', 'app')).code, 0);
  t.is((await compose('up', '--wait')).code, 0);
  const again = await logIn(vault, account);
  t.like(await again.session.mfa.status(), { enabled: true, recoveryCodesRemaining: 15 });
});

async function askPrometheus(path: string): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:9090/api/v1/${path}`);
  const { data } = (await response.json()) as { readonly data: unknown };
  return data;
}

/** Resolves with the series of a query and their values, or with undefined while there are none. */
async function queryPrometheus(query: string) {
  const { result } = (await askPrometheus(`query?query=${encodeURIComponent(query)}`)) as {
    readonly result: readonly {
      readonly metric: object;
      readonly value: readonly [number, string];
    }[];
  };
  if (result.length === 0) return undefined;
  return result.map(({ metric, value: [, value] }) => ({ metric, value }));
}
