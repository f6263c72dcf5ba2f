import test from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { createPerson } from '../support/documents/people.ts';
import { startVault } from '../support/vault/vault.ts';

type Line = Readonly<Record<string, unknown>>;

test('each request has a line with its route, sizes and client; probes have none', async (t) => {
  const vault = await startVault({ LOG_LEVEL: 'info' });
  t.teardown(() => vault.stop());
  const { api } = await createPerson(vault);
  const send = async (id: string, path: string, body?: object) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    await fetch(vault.baseUrl + path, {
      method: text === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${api.token}`,
        'content-type': 'application/json',
        'x-request-id': id,
      },
      body: text ?? null,
    }).then((response) => response.text());
  };
  await send('probe', '/health/live');
  await send('refused', '/v1/uploads', { fileName: '' });
  await send('unknown', '/v1/nowhere');
  await send('list', '/v1/documents?limit=1');
  const lineOf = (id: string): Line | undefined =>
    vault.logLines
      .map((line) => JSON.parse(line) as Line)
      .find(({ requestId, msg }) => requestId === id && msg === 'request');
  await until(() => lineOf('list') !== undefined, { what: 'the line', timeoutMs: 60_000 });

  const common = { level: 'info', clientAddress: '127.0.0.1', aborted: false };
  t.like(lineOf('list'), { ...common, method: 'GET', route: '/v1/documents', status: 200 });
  t.false('code' in (lineOf('list') ?? {}));
  t.like(lineOf('refused'), {
    ...common,
    route: '/v1/uploads',
    status: 400,
    code: 'validation_failed',
    requestBytes: '{"fileName":""}'.length,
  });
  t.true(Number(lineOf('refused')?.['responseBytes']) > 200);
  t.like(lineOf('unknown'), { ...common, path: '/v1/nowhere', status: 404, code: 'not_found' });
  t.false('route' in (lineOf('unknown') ?? {}));
  t.is(lineOf('probe'), undefined);
});
