import test from 'ava';
import { readableLine } from '../../app/dev/stack/readable-log.ts';

test('a JSON log line becomes text with its fields', (t) => {
  const time = new Date(0).toISOString();
  const named = { service: 'app', version: '1.2.3' };
  const line = JSON.stringify({ level: 'warn', time, ...named, msg: 'late', ms: 12 });
  t.regex(readableLine('app', line), /^app {4}\d\d:\d\d:\d\d warn late ms=12$/);
});

test('the stack of an error follows on lines of its own', (t) => {
  const err = { message: 'no', stack: 'Error: no\n    at f' };
  const line = JSON.stringify({
    level: 'error',
    time: new Date(0).toISOString(),
    msg: 'failed',
    err,
  });
  t.regex(readableLine('signer', line), /error failed\nError: no\n {4}at f$/);
});

test('a line that is no log entry stays unchanged', (t) => {
  t.is(readableLine('app', 'plain text'), 'app    plain text');
  t.is(readableLine('app', '{"half": '), 'app    {"half": ');
  t.is(readableLine('app', '{"other":1}'), 'app    {"other":1}');
});
