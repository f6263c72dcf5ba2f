import test from 'ava';
import { Registry } from 'prom-client';
import { until } from '../../../app/dev/processes/until.ts';
import { createMeter } from '../../../signer/protocol/metrics/meter.ts';
import { readSender } from '../../../signer/protocol/tracing/carried-context.ts';
import { inSpanOf } from '../../../signer/protocol/tracing/spans.ts';
import { createAccount, openSession } from '../../support/accounts/test-account.ts';
import { scrapePage } from '../../support/metrics/open-metrics.ts';
import { parseScrape } from '../../support/metrics/scrape.ts';
import { traceOf } from '../../support/tracing/receiver.ts';
import { startTracedVault } from '../../support/tracing/traced-vault.ts';

const ids = String.raw`\{trace_id="(?<traceId>[0-9a-f]{32})",span_id="(?<spanId>[0-9a-f]{16})"\}`;
/** Matches a bucket with an exemplar. */
const withExemplar = new RegExp(String.raw`^(?<series>\w+_bucket\{.*\}) \d+ # ${ids} \S+ \S+$`);

/** Returns the exemplars of a page of OpenMetrics, with their series. */
function exemplarsOf(text: string) {
  const lines = text.split('\n').filter((line) => line.includes(' # {'));
  return lines.map((line) => {
    const { series = '', traceId = '', spanId = '' } = withExemplar.exec(line)?.groups ?? {};
    return { series, traceId, spanId };
  });
}

test('durations have the traces of requests as exemplars, if they are sampled', async (t) => {
  const { vault, receiver } = await startTracedVault(t);
  const { registry } = vault.services.metrics;
  await openSession(vault, await createAccount(vault));
  const login = await until(
    () => receiver.spans.find(({ name }) => name === 'POST /v1/auth/login/verify'),
    { what: 'the span of the login', timeoutMs: 60_000 },
  );
  const exemplars = exemplarsOf((await scrapePage(registry)).text);
  const ofLogin = exemplars.find(({ series }) => series.includes('"/v1/auth/login/verify"'));
  t.like(ofLogin, { traceId: login.traceId, spanId: login.spanId });
  for (const name of ['db_client_operation', 'probatio_signer_call', 'http_server_request']) {
    const found = exemplars.find(({ series }) => series.startsWith(`${name}_duration_seconds`));
    t.truthy(found, name);
    await until(() => traceOf(receiver.spans, found ?? { traceId: '' }).length > 0, {
      what: `the trace of ${name}`,
      timeoutMs: 60_000,
    });
  }
  const classic = await scrapePage(registry, 'text/plain');
  t.false(classic.text.includes(' # {'));
  t.true(parseScrape(classic.text).length > 100);

  const own = new Registry();
  const histogram = createMeter(own).histogram({ name: 'a', help: 'A', labels: {}, buckets: [1] });
  const observeIn = (flags: '00' | '01') => {
    const sender = readSender({ traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-${flags}` });
    if (sender === undefined) throw new Error('nothing is traced');
    return inSpanOf(sender.context, 'work', {}, async () => histogram.observe({}, 1));
  };
  await observeIn('00');
  t.deepEqual(exemplarsOf((await scrapePage(own)).text), []);
  await observeIn('01');
  t.is(exemplarsOf((await scrapePage(own)).text).length, 1);
});
