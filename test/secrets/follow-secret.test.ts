import { chmod, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test from 'ava';
import { followSecret } from '../../app/secrets/follow-secret.ts';
import { createLog } from '../../app/telemetry/log.ts';
import { temporaryDirectory } from '../support/processes/processes.ts';

test('a secret without a file stays', (t) => {
  t.is(followSecret({ variable: 'REDIS_URL', value: 'first', file: undefined })(), 'first');
});

test('a secret follows its file, and keeps its value while the file cannot be used', async (t) => {
  const file = path.join(await temporaryDirectory(t), 'secret');
  const lines: string[] = [];
  const read = followSecret({
    variable: 'REDIS_URL',
    value: 'first',
    file,
    accepts: (value) => value !== 'jam',
    log: createLog('info', { write: (line) => void lines.push(line) }),
  });
  const messages = () => lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
  await writeFile(file, 'second\n', { mode: 0o600 });
  t.is(read(), 'second');
  await writeFile(file, 'jam\n');
  t.deepEqual([read(), read()], ['second', 'second']);
  await chmod(file, 0o666);
  t.is(read(), 'second');
  await rm(file);
  t.is(read(), 'second');
  await writeFile(file, 'third\n', { mode: 0o600 });
  t.is(read(), 'third');
  t.deepEqual(
    messages().map((message) => /^REDIS_URL_FILE (names \w+ \w+ [^;]+);/.exec(message)?.[1]),
    [
      'names a file without a value of this setting',
      'names a file that every user may write',
      'names a file that does not exist',
    ],
  );
  t.notRegex(lines.join(), /jam|second|third/);
});
