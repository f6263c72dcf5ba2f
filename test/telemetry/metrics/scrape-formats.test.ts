import test from 'ava';
import { Registry } from 'prom-client';
import { createMeter } from '../../../signer/protocol/metrics/meter.ts';
import { parseScrape } from '../../support/metrics/scrape.ts';
import { acceptOfPrometheus, scrapePage } from '../../support/metrics/open-metrics.ts';

const plain = 'text/plain; version=0.0.4; charset=utf-8';
const open = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/** The header of Prometheus 3. */
const acceptOfPrometheus3 =
  'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,' +
  'application/openmetrics-text;version=0.0.1;q=0.4,' +
  'text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1';

function newRegistry(): Registry {
  const registry = new Registry();
  const meter = createMeter(registry);
  const labels = { colour: { values: ['red'] } };
  meter.counter({ name: 'a_total', help: 'A', labels }).add({ colour: 'red' }, 3);
  meter.gauge({ name: 'b', help: 'B', labels }).readWith(() => [[{ colour: 'red' }, 2]]);
  const buckets = [1];
  meter.histogram({ name: 'c_seconds', help: 'C', labels, buckets }).observe({ colour: 'red' }, 0);
  return registry;
}

test('a scraper gets the format that it prefers', async (t) => {
  for (const [accept, type] of [
    [acceptOfPrometheus, open],
    [acceptOfPrometheus3, open],
    ['*/*', plain],
    ['text/html', plain],
    ['text/plain;version=0.0.4,application/openmetrics-text;version=1.0.0;q=0.5', plain],
    ['application/openmetrics-text;q=0,text/plain;q=0.5', plain],
    ['application/json,application/openmetrics-text;q=0.1', open],
  ] as const) {
    t.is((await scrapePage(newRegistry(), accept)).type, type, accept);
  }
});

test('both formats have the same series, in whatever order they are asked for', async (t) => {
  const registry = newRegistry();
  const before = await scrapePage(registry, 'text/plain');
  const page = await scrapePage(registry);
  t.deepEqual(await scrapePage(registry, 'text/plain'), before);
  t.deepEqual(await scrapePage(registry), page);
  t.true(page.text.endsWith('\n# EOF\n'));
  t.true(
    page.text.includes('# TYPE a counter\n') && before.text.includes('# TYPE a_total counter'),
  );
  t.deepEqual(parseScrape(page.text), parseScrape(before.text));
  t.is(parseScrape(page.text).length, 6);
});

test('without tracing there is no exemplar', async (t) => {
  const { text } = await scrapePage(newRegistry());
  t.true(text.includes('c_seconds_bucket'));
  t.false(text.includes(' # {'));
});
