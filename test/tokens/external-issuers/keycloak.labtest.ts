import test, { type ExecutionContext } from 'ava';
import { readIssuers } from '../../../app/tokens/external-issuers/config.ts';
import { createIssuers, type Issuers } from '../../../app/tokens/external-issuers/issuers.ts';
import { systemClock } from '../../../app/async/clock.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { AppError } from '../../../app/errors/app-error.ts';
import { createLog } from '../../../app/telemetry/log.ts';
import {
  logInAt,
  maxAgeSeconds,
  realm,
  realmFile,
  startKeycloak,
  stopKeycloak,
} from './keycloak.ts';
import { startTestDatabase } from './test-database.ts';
import { throwsCode } from '../../support/issuers/test-issuer.ts';

async function trustKeycloak(t: ExecutionContext): Promise<Issuers> {
  const { issuers: configs, problems } = readIssuers(await realmFile(t), 'https://vault.test');
  t.deepEqual(problems, []);
  const { db } = await startTestDatabase(t);
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  const log = createLog('silent');
  return createIssuers({ configs, db, log, clock: systemClock, stop: stop.signal });
}

test.serial('a user of Keycloak gets what Keycloak may grant, and no more', async (t) => {
  const issuers = await trustKeycloak(t);
  const { access_token: token } = await logInAt('probatio-web', 'alice');
  const caller = await issuers.verify(token, realm.issuer);
  t.like(caller, {
    issuer: realm.issuer,
    tenantId: 'default',
    plan: 'standard',
    roles: ['user'],
    scopes: ['documents:read'],
  });
  t.truthy(caller.sessionId);
  t.regex(caller.userId, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);

  const later = await logInAt('probatio-web', 'alice');
  const again = await issuers.verify(later.access_token, realm.issuer);
  t.is(again.userId, caller.userId);
  t.not(again.sessionId, caller.sessionId);
});

test.serial('a Keycloak user without a tenant has none', async (t) => {
  const issuers = await trustKeycloak(t);
  const { access_token: token } = await logInAt('probatio-web', 'bob');
  t.is((await issuers.verify(token, realm.issuer)).tenantId, undefined);
});

test.serial('ID tokens, refresh tokens and tokens for other audiences are refused', async (t) => {
  const issuers = await trustKeycloak(t);
  const { id_token: id, refresh_token: refresh } = await logInAt('probatio-web', 'alice');
  await throwsCode(t, issuers.verify(id, realm.issuer), 'invalid_token', 'ID token');
  await throwsCode(t, issuers.verify(refresh, realm.issuer), 'invalid_token', 'refresh token');
  const other = await logInAt('other-web', 'alice');
  await throwsCode(t, issuers.verify(other.access_token, realm.issuer), 'invalid_audience');
});

test.serial(
  'an unreachable Keycloak’s keys work until they are too old, and its new ones later',
  async (t) => {
    t.timeout(5 * 60_000);
    const issuers = await trustKeycloak(t);
    const { access_token: token } = await logInAt('probatio-web', 'alice');
    const { userId } = await issuers.verify(token, realm.issuer);

    await stopKeycloak();
    t.teardown(startKeycloak);
    t.is((await issuers.verify(token, realm.issuer)).userId, userId);
    const refusal = await until(
      () =>
        issuers.verify(token, realm.issuer).then(
          () => undefined,
          (error: unknown) => error,
        ),
      { what: 'the keys to be too old', timeoutMs: 2 * maxAgeSeconds * 1000 },
    );
    t.like(refusal, { code: 'jwks_unavailable' });
    t.true(refusal instanceof AppError);
    t.like(issuers.states()[0], { isUsable: false, isReachable: false });

    await startKeycloak();
    const { access_token: fresh } = await logInAt('probatio-web', 'alice');
    const caller = await until(() => issuers.verify(fresh, realm.issuer).catch(() => undefined), {
      what: 'the new keys to work',
      timeoutMs: 60_000,
    });
    t.is(caller.userId, userId);
    await throwsCode(
      t,
      issuers.verify(token, realm.issuer),
      'invalid_token',
      'signed by a withdrawn key',
    );
  },
);
