import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { hashApiKey, type ApiKey } from '../../app/internal-api/api-key-format.ts';
import { readApiKeys } from '../../app/internal-api/api-key-file.ts';
import { createInternalKeys } from '../../app/internal-api/check-api-key.ts';
import { createLog } from '../../app/telemetry/log.ts';
import { runCli } from '../support/processes/run-cli.ts';

async function keyPath(t: ExecutionContext): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-keys-'));
  t.teardown(() => rm(directory, { recursive: true }));
  return path.join(directory, 'keys.json');
}

const create = (...args: string[]) => runCli(['api-key', 'create', ...args]);

test('a new API key is printed once, with the line for the key file', async (t) => {
  const { code, stdout } = await create('--name', 'cron', '--admin');
  t.is(code, 0);
  const [key = '', line = '', rest] = stdout.split('\n');
  t.is(rest, '');
  t.regex(key, /^pik_[\w-]{43}$/);
  t.is(Buffer.from(key.slice(4), 'base64url').length, 32);
  const kept = JSON.parse(line) as ApiKey;
  t.deepEqual(kept, { name: 'cron', sha256: hashApiKey(key), admin: true });
  t.not((await create('--name', 'cron')).stdout.split('\n')[0], key);
});

test('an API key added to the file is admitted, and the file holds only its hash', async (t) => {
  const file = await keyPath(t);
  const admin = await create('--name', 'cron', '--admin', '--file', file);
  const plain = await create('--name', 'later', '--file', file);
  const [adminKey, plainKey] = [admin.stdout.trim(), plain.stdout.trim()];
  t.deepEqual([admin.code, plain.code], [0, 0]);
  for (const key of [adminKey, plainKey]) t.regex(key, /^pik_[\w-]{43}$/);
  t.is((await stat(file)).mode & 0o777, 0o600);
  const text = await readFile(file, 'utf8');
  for (const key of [adminKey, plainKey]) t.false(text.includes(key));

  const keys = createInternalKeys({ file, log: createLog('silent') });
  t.deepEqual(await keys.admit(adminKey), { internalKey: 'cron' });
  await t.throwsAsync(keys.admit(plainKey), { message: /right|role/ });
});

test('a name that is already used and a file that is no key file are refused', async (t) => {
  const file = await keyPath(t);
  await create('--name', 'cron', '--file', file);
  const before = await readApiKeys(file);
  const again = await create('--name', 'cron', '--file', file);
  t.is(again.code, 1);
  t.is(again.stdout, '');
  t.regex(again.stderr, /has a key named cron already/);
  t.deepEqual(await readApiKeys(file), before);

  await writeFile(file, 'jam');
  const broken = await create('--name', 'other', '--file', file);
  t.is(broken.code, 1);
  t.is(broken.stdout, '', 'a key that could not be stored is not printed');
  t.is(await readFile(file, 'utf8'), 'jam');
});
