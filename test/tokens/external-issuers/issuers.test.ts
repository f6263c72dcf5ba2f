import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import type { IssuerConfig } from '../../../app/tokens/external-issuers/config.ts';
import { createIssuers, type Issuers } from '../../../app/tokens/external-issuers/issuers.ts';
import { systemClock } from '../../../app/async/clock.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { createLog } from '../../../app/telemetry/log.ts';
import { runProgram } from '../../support/processes/processes.ts';
import { startTestDatabase, type TestDatabase } from './test-database.ts';
import { startTestIssuer, throwsCode } from '../../support/issuers/test-issuer.ts';

const common = { log: createLog('silent'), clock: systemClock };

function trust(
  t: ExecutionContext,
  { db }: TestDatabase,
  configs: readonly IssuerConfig[],
): Issuers {
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  return createIssuers({ ...common, configs, db, stop: stop.signal });
}

test('a caller is the user of the token’s own issuer and subject', async (t) => {
  const [one, two] = [await startTestIssuer(t), await startTestIssuer(t)];
  const issuers = trust(t, await startTestDatabase(t), [one.config, two.config]);
  const callerOf = async ({ key, claims, config: { issuer } }: typeof one) =>
    issuers.verify(await key.sign(claims({ sub: 'someone', tenant_id: 'one' })), issuer);

  const callers = [await callerOf(one), await callerOf(one), await callerOf(two)];
  const [first, again, other] = callers.map(({ userId }) => userId);
  t.is(first, again);
  t.not(first, other);
  t.like(callers[0], { issuer: one.config.issuer, tenantId: 'one', sessionId: undefined });
  t.false('subject' in (callers[0] ?? {}), 'a caller carries the vault’s id only');
});

test('a token of one issuer is refused in the name of another', async (t) => {
  const [one, two] = [await startTestIssuer(t), await startTestIssuer(t)];
  const issuers = trust(t, await startTestDatabase(t), [one.config, two.config]);
  const token = await one.key.sign(one.claims());
  await throwsCode(t, issuers.verify(token, two.config.issuer), 'invalid_issuer');
  t.truthy(await issuers.verify(token, one.config.issuer));
});

test('an unknown or missing issuer is invalid_issuer', async (t) => {
  const { config, key, claims } = await startTestIssuer(t);
  const issuers = trust(t, await startTestDatabase(t), [config]);
  for (const issuer of ['https://other.test', `${config.issuer}/`, '__proto__', '', undefined]) {
    await throwsCode(t, issuers.verify(await key.sign(claims()), issuer), 'invalid_issuer');
  }
});

test('a refused token creates no user', async (t) => {
  const { config, key, claims } = await startTestIssuer(t);
  const database = await startTestDatabase(t);
  const issuers = trust(t, database, [config]);
  const refused = await key.sign(claims({ aud: 'other' }));
  await throwsCode(t, issuers.verify(refused, config.issuer), 'invalid_audience');
  t.is(await database.countIdentities(), 0);
});

test('the state of every key set is reported', async (t) => {
  const [one, two] = [await startTestIssuer(t), await startTestIssuer(t)];
  await two.server.close();
  const issuers = trust(t, await startTestDatabase(t), [one.config, two.config]);
  const options = { what: 'the keys of the first issuer', timeoutMs: 60_000 };
  await until(() => issuers.states()[0]?.isUsable, options);
  t.deepEqual(
    issuers.states().map(({ issuer, isUsable }) => ({ issuer, isUsable })),
    [
      { issuer: one.config.issuer, isUsable: true },
      { issuer: two.config.issuer, isUsable: false },
    ],
  );
});

test('stopping a vault aborts its fetch in progress', async (t) => {
  const { config, server } = await startTestIssuer(t);
  const database = await startTestDatabase(t);
  const fetches: ServerResponse[] = [];
  server.answer((_, response) => void fetches.push(response));
  const start = async (stop: AbortSignal) => {
    const before = fetches.length;
    createIssuers({ ...common, configs: [config], db: database.db, stop });
    const asked = () => fetches.length > before && fetches.at(-1);
    return until(asked, { what: 'a fetch', timeoutMs: 60_000 });
  };
  const [other, ended] = [new AbortController(), new AbortController()];
  t.teardown(() => other.abort());
  const earlier = await start(other.signal);
  const later = await start(ended.signal);
  ended.abort();
  await once(later, 'close');
  t.false(earlier.closed, 'it did not time out');
});

test('the wait for the next fetch keeps no process alive', async (t) => {
  const { config, server } = await startTestIssuer(t);
  const program = runProgram(t, [
    'test/tokens/external-issuers/key-set-program.ts',
    JSON.stringify(config),
  ]);
  t.is(await program.exitCode, 0, program.lines.join('\n'));
  t.is(server.requests, 1);
});
