import test from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { createAccount, openSession } from '../../support/accounts/test-account.ts';
import { certify, storeDocument } from '../../support/documents/documents.ts';
import { createApi } from '../../support/documents/uploads.ts';
import { ancestry, traceOf, type ReceivedSpan } from '../../support/tracing/receiver.ts';
import { startTracedVault } from '../../support/tracing/traced-vault.ts';

test('a login and a certification are one tree each, from HTTP to the HSM', async (t) => {
  const { vault, receiver } = await startTracedVault(t);
  const { spans } = receiver;
  /** Resolves with a span, once its trace has a span of another name too. */
  const find = (name: string, inside: string): Promise<ReceivedSpan> =>
    until(
      () =>
        spans.find(
          (span) => span.name === name && traceOf(spans, span).some((each) => each.name === inside),
        ),
      { what: `a span ${name} with ${inside}`, timeoutMs: 60_000 },
    );

  await openSession(vault, await createAccount(vault));
  const login = await find('POST /v1/auth/login/verify', 'C_Sign');
  const tree = traceOf(spans, login);
  t.is(login.parentSpanId, undefined);
  const signing = tree.find(({ name }) => name === 'C_Sign');
  t.deepEqual(ancestry(spans, signing), [
    'C_Sign',
    'hsm sign',
    'POST /v1/tokens',
    'POST /v1/tokens',
    'handle',
    'POST /v1/auth/login/verify',
  ]);
  const systems = new Set(tree.map(({ attributes }) => attributes['db.system.name']));
  t.true(systems.has('postgresql') && systems.has('redis'));
  for (const span of tree) t.is(ancestry(spans, span).at(-1), login.name, span.name);
  t.deepEqual(new Set(tree.map(({ service }) => service)), new Set(['app', 'probatio-signer']));
  const line = vault.logLines.find((each) => each.includes('/v1/auth/login/verify')) ?? '';
  t.like(JSON.parse(line), { trace_id: login.traceId, span_id: login.spanId, msg: 'request' });

  const api = await createApi(vault);
  const { id } = await storeDocument(t, api);
  t.is((await certify(api, id)).status, 200);
  const certification = await find('POST /v1/documents/:id/certify', 'handle');
  const batch = await until(
    () =>
      spans.find(
        ({ name, links, ...span }) =>
          name === 'seal batch' &&
          links.some(({ traceId }) => traceId === certification.traceId) &&
          traceOf(spans, span).some((each) => each.name === 'C_Sign'),
      ),
    { what: 'the batch that is linked with the certification', timeoutMs: 60_000 },
  );
  t.not(batch.traceId, certification.traceId);
  t.is(batch.parentSpanId, undefined);
  const last = traceOf(spans, batch).find(({ name }) => name === 'C_Sign');
  t.deepEqual(ancestry(spans, last), [
    'C_Sign',
    'hsm sign',
    'POST /v1/seal',
    'POST /v1/seal',
    'seal batch',
  ]);

  const health = await fetch(`${vault.baseUrl}/health/ready`);
  t.is(health.status, 200);
  t.false(spans.some(({ name }) => name.includes('/health')));
});
