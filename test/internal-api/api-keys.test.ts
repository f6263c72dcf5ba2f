import { chmod, mkdtemp, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { AppError } from '../../app/errors/app-error.ts';
import { createApiKey, hashApiKey } from '../../app/internal-api/api-key-format.ts';
import { addApiKey, readApiKeys } from '../../app/internal-api/api-key-file.ts';
import { createInternalKeys, type InternalKeys } from '../../app/internal-api/check-api-key.ts';
import { createLog } from '../../app/telemetry/log.ts';
import { writeKeys } from '../support/vault/key-file.ts';

const first = createApiKey({ name: 'first', admin: true });
const second = createApiKey({ name: 'second', admin: true });
const plain = createApiKey({ name: 'plain', admin: false });

async function keyPath(t: ExecutionContext): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-keys-'));
  t.teardown(() => rm(directory, { recursive: true }));
  return path.join(directory, 'keys.json');
}

function open(file: string | undefined) {
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => void lines.push(line) });
  return { keys: createInternalKeys({ file, log }), lines };
}

/** Returns the name of the key, or the code of the refusal. */
async function outcome(keys: InternalKeys, key: string | undefined): Promise<string> {
  try {
    return (await keys.admit(key)).internalKey;
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
}

const untilOutcome = (keys: InternalKeys, key: string, expected: string) =>
  until(async () => (await outcome(keys, key)) === expected, {
    what: `the key to be ${expected}`,
    timeoutMs: 60_000,
  });

/** Sends requests for long enough that the file is checked several times. */
async function keepAsking(keys: InternalKeys, key: string): Promise<Set<string>> {
  const outcomes = new Set<string>();
  const end = performance.now() + 3_500;
  await until(
    async () => {
      outcomes.add(await outcome(keys, key));
      return performance.now() > end;
    },
    { what: 'the time to pass', timeoutMs: 60_000 },
  );
  return outcomes;
}

test('an internal key is admitted by its hash, with its right', async (t) => {
  const file = await keyPath(t);
  await writeKeys(file, [first.kept, plain.kept]);
  const { keys } = open(file);
  t.is(await outcome(keys, first.key), 'first');
  t.is(await outcome(keys, plain.key), 'access_denied');
  const strangers = [undefined, '', first.key.slice(0, -1), `${first.key} `, first.kept.sha256];
  for (const key of [...strangers, second.key, 'first', `${first.key}, ${first.key}`]) {
    t.is(await outcome(keys, key), 'invalid_api_key', key);
  }
});

test('the first concurrent callers of a process are admitted', async (t) => {
  const file = await keyPath(t);
  await writeKeys(file, [first.kept]);
  const { keys } = open(file);
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => outcome(keys, first.key)));
  t.deepEqual(new Set(outcomes), new Set(['first']));
});

test('an empty key is never admitted', async (t) => {
  const file = await keyPath(t);
  await writeKeys(file, [{ name: 'nothing', sha256: hashApiKey(''), admin: true }]);
  const { keys } = open(file);
  t.is(await outcome(keys, ''), 'invalid_api_key');
  t.is(await outcome(keys, undefined), 'invalid_api_key');
});

test('without a file there are no internal keys', async (t) => {
  const { keys, lines } = open(undefined);
  t.is(await outcome(keys, first.key), 'invalid_api_key');
  t.deepEqual(lines, []);
});

test('an internal key is replaced without a restart', async (t) => {
  const file = await keyPath(t);
  await writeKeys(file, [first.kept]);
  const { keys } = open(file);
  t.is(await outcome(keys, first.key), 'first');
  await writeKeys(file, [first.kept, second.kept]);
  await untilOutcome(keys, second.key, 'second');
  t.is(await outcome(keys, first.key), 'first');
  await writeKeys(file, [second.kept]);
  await untilOutcome(keys, first.key, 'invalid_api_key');
  t.is(await outcome(keys, second.key), 'second');
});

test('a replaced file of the same size and time is noticed', async (t) => {
  const file = await keyPath(t);
  const one = createApiKey({ name: 'one', admin: true });
  const other = createApiKey({ name: 'two', admin: true });
  await writeKeys(file, [one.kept]);
  const { atime, mtime } = await stat(file);
  const { keys } = open(file);
  t.is(await outcome(keys, one.key), 'one');
  await writeKeys(`${file}.2`, [other.kept]);
  await utimes(`${file}.2`, atime, mtime);
  await rename(`${file}.2`, file);
  await untilOutcome(keys, other.key, 'two');
});

test('a missing file is logged once, and used once it exists', async (t) => {
  const file = await keyPath(t);
  const { keys, lines } = open(file);
  t.deepEqual(await keepAsking(keys, first.key), new Set(['invalid_api_key']));
  t.is(lines.length, 1, lines.join(''));
  t.regex(lines[0] ?? '', /ENOENT/);
  await writeKeys(file, [first.kept]);
  await untilOutcome(keys, first.key, 'first');
});

const secret = 'pik_a-key-that-somebody-put-into-the-file';
const brokenFiles: [string, string][] = [
  ['empty', ''],
  ['a truncated file', JSON.stringify([first.kept]).slice(0, -20)],
  ['a key in the clear', secret],
  ['an object', '{}'],
  ['a key in place of its hash', JSON.stringify([{ ...first.kept, sha256: secret }])],
  ['an unknown field', JSON.stringify([{ ...first.kept, [secret]: secret }])],
  ['no right named', JSON.stringify([{ name: 'first', sha256: first.kept.sha256 }])],
  ['two of one name', JSON.stringify([first.kept, { ...second.kept, name: 'first' }])],
  ['one key twice', JSON.stringify([first.kept, { ...first.kept, name: 'again' }])],
  ['a malformed name', JSON.stringify([{ ...first.kept, name: 'a\nb' }])],
];
for (const [what, text] of brokenFiles) {
  test(`a broken file (${what}) is logged once, and the last good one holds`, async (t) => {
    const file = await keyPath(t);
    await writeKeys(file, [second.kept]);
    const { keys, lines } = open(file);
    t.is(await outcome(keys, second.key), 'second');
    lines.length = 0;
    await writeFile(file, text);
    t.deepEqual(await keepAsking(keys, second.key), new Set(['second']));
    t.is(lines.length, 1, lines.join(''));
    t.regex(lines[0] ?? '', /"level":"error".*unusable/);
    t.false(lines.join('').includes(secret));
    t.is(await outcome(keys, first.key), 'invalid_api_key');

    await writeKeys(file, [first.kept]);
    await untilOutcome(keys, first.key, 'first');
  });
}

test('no internal key is ever logged', async (t) => {
  const file = await keyPath(t);
  await writeKeys(file, [first.kept, plain.kept]);
  const { keys, lines } = open(file);
  for (const key of [first.key, plain.key, second.key]) await outcome(keys, key);
  t.is(lines.length, 1);
  for (const { key, kept } of [first, plain, second]) {
    t.false(lines.join('').includes(key));
    t.false(lines.join('').includes(kept.sha256));
  }
});

test('adding a key keeps the others, restricts the file, and refuses a taken name', async (t) => {
  const file = await keyPath(t);
  await addApiKey(file, first.kept);
  await chmod(file, 0o644);
  await addApiKey(file, plain.kept);
  t.deepEqual(await readApiKeys(file), [first.kept, plain.kept]);
  t.is((await stat(file)).mode & 0o777, 0o600);
  await t.throwsAsync(addApiKey(file, { ...second.kept, name: 'first' }), {
    message: /has a key named first/,
  });
  t.deepEqual(await readApiKeys(file), [first.kept, plain.kept]);
});

test('keys added concurrently are all kept', async (t) => {
  const file = await keyPath(t);
  const keys = Array.from({ length: 8 }, (_, i) => createApiKey({ name: `key-${i}`, admin: true }));
  const results = await Promise.allSettled(keys.map(({ kept }) => addApiKey(file, kept)));
  const added = keys.filter((_, i) => results[i]?.status === 'fulfilled').map(({ kept }) => kept);
  t.true(added.length > 0);
  t.deepEqual(
    (await readApiKeys(file)).map(({ name }) => name).sort(),
    added.map(({ name }) => name).sort(),
  );
});

test('adding a key does not overwrite a broken file', async (t) => {
  const file = await keyPath(t);
  await writeFile(file, '[');
  await t.throwsAsync(addApiKey(file, first.kept), { message: `${file}: it is not JSON` });
  await t.throwsAsync(stat(`${file}.new`), { code: 'ENOENT' });
  await writeKeys(file, []);
  await addApiKey(file, first.kept);
  t.deepEqual(await readApiKeys(file), [first.kept]);
});
