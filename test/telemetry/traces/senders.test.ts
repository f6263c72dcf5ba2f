import test from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import type { ReceivedSpan } from '../../support/tracing/receiver.ts';
import { startTracedVault } from '../../support/tracing/traced-vault.ts';
import { startReadyVault } from '../../support/vault/vault.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';

test('a trusted proxy’s trace goes on, with its flag; a stranger’s is only linked', async (t) => {
  const { vault: trusting, receiver } = await startTracedVault(t, {
    HTTP_TRUSTED_PROXIES: '127.0.0.1/32',
  });
  const vault = await startReadyVault();
  t.teardown(() => vault.stop());
  const { spans } = receiver;
  const ask = async (baseUrl: string, headers: Record<string, string>) => {
    const response = await fetch(`${baseUrl}/v1/uploads/config`, { headers });
    return response.headers.get('x-request-id') ?? '';
  };
  const find = (id: string): Promise<ReceivedSpan> =>
    until(() => spans.find(({ attributes }) => attributes['probatio.request_id'] === id), {
      what: 'the span of a request',
      timeoutMs: 60_000,
    });
  const sampled = { traceparent: `00-${traceId}-${spanId}-01` };
  const unsampled = { traceparent: `00-${traceId}-${spanId}-00` };

  const passedOn = await find(await ask(trusting.baseUrl, sampled));
  t.is(passedOn.traceId, traceId);
  t.is(passedOn.parentSpanId, spanId);
  const unrecorded = await ask(trusting.baseUrl, unsampled);

  for (const headers of [sampled, unsampled]) {
    const own = await find(await ask(vault.baseUrl, { ...headers, baggage: 'user=secret' }));
    t.not(own.traceId, traceId);
    t.is(own.parentSpanId, undefined);
    t.deepEqual(own.links, [{ traceId, spanId }]);
  }
  t.false(spans.some(({ attributes }) => attributes['probatio.request_id'] === unrecorded));
  t.false(receiver.texts.some((text) => text.includes('secret')));
});
