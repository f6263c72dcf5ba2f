import test from 'ava';
import { createBatchSize } from '../../../app/audit/sealing/batch-size.ts';

test('a batch shrinks to what a slow HSM signs in time, and at most doubles again', (t) => {
  const size = createBatchSize();
  t.is(size.current, 256);
  size.succeeded(256, 25_600);
  t.is(size.current, 20);
  size.succeeded(20, 10);
  t.is(size.current, 40);
  for (let times = 0; times < 5; times += 1) size.succeeded(size.current, 10);
  t.is(size.current, 256);
});

test('a failed batch halves the next one, down to one entry', (t) => {
  const size = createBatchSize();
  size.failed();
  t.is(size.current, 128);
  for (let times = 0; times < 20; times += 1) size.failed();
  t.is(size.current, 1);
  size.succeeded(1, 30_000);
  t.is(size.current, 1);
});
