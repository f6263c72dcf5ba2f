import test from 'ava';
import { array, assert, asyncProperty, string } from 'fast-check';
import { Registry } from 'prom-client';
import { createMeter } from '../../../signer/protocol/metrics/meter.ts';
import { parseScrape, scrape, valueOf } from '../../support/metrics/scrape.ts';

const colours: readonly string[] = ['red', 'green'];

test('a value outside of the set of a label counts as _OTHER, whatever it is', async (t) => {
  await assert(
    asyncProperty(array(string(), { minLength: 1 }), async (values) => {
      const registry = new Registry();
      const meter = createMeter(registry);
      const labels = { colour: { values: colours } };
      const counter = meter.counter({ name: 'a_total', help: 'A', labels });
      const gauge = meter.gauge({ name: 'b', help: 'B', labels });
      const histogram = meter.histogram({ name: 'c_seconds', help: 'C', labels, buckets: [1] });
      for (const colour of [...values, 'red', '__proto__', 'constructor', '_OTHER']) {
        counter.add({ colour });
        gauge.set({ colour }, 1);
        gauge.setAll([[{ colour }, 1]]);
        histogram.observe({ colour }, 1);
      }
      const closed = new Set([...colours, '_OTHER']);
      const found = (await scrape(registry)).map(({ labels: { colour = '' } }) => colour);
      t.true(found.length > 3 && found.every((colour) => closed.has(colour)));
    }),
    { numRuns: 50 },
  );
});

test('a label that does not apply is left out', async (t) => {
  const registry = new Registry();
  const labels = { colour: { values: colours }, size: { values: ['small'] } };
  const counter = createMeter(registry).counter({ name: 'a_total', help: 'A', labels });
  counter.add({ colour: undefined, size: 'small' });
  t.deepEqual(await scrape(registry), [{ name: 'a_total', labels: { size: 'small' }, value: 1 }]);
});

test('a counter with one label begins with 0 for each value', async (t) => {
  const registry = new Registry();
  const labels = { colour: { values: colours } };
  createMeter(registry).counter({ name: 'a_total', help: 'A', labels });
  const series = await scrape(registry);
  t.is(valueOf(series, 'a_total', { colour: 'red' }), 0);
  t.is(valueOf(series, 'a_total', { colour: 'green' }), 0);
});

test('a gauge says nothing before it is set and after it is cleared', async (t) => {
  const registry = new Registry();
  const gauge = createMeter(registry).gauge({ name: 'a', help: 'A', labels: {} });
  t.deepEqual(await scrape(registry), []);
  gauge.set({}, 0);
  t.is(valueOf(await scrape(registry), 'a'), 0);
  gauge.clear();
  t.deepEqual(await scrape(registry), []);
});

test('a gauge that is read shows at each scrape what is so then, and nothing else', async (t) => {
  const registry = new Registry();
  const labels = { colour: { values: colours } };
  const gauge = createMeter(registry).gauge({ name: 'a', help: 'A', labels });
  let colour = 'red';
  gauge.readWith(() => [[{ colour }, 1]]);
  t.deepEqual(await scrape(registry), [{ name: 'a', labels: { colour: 'red' }, value: 1 }]);
  colour = 'green';
  t.deepEqual(await scrape(registry), [{ name: 'a', labels: { colour: 'green' }, value: 1 }]);
});

test('a line that is no series is noticed', (t) => {
  t.throws(() => parseScrape('a{b="c"} 1\nno series here\n'));
});
