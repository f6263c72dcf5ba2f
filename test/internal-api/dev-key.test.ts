import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'ava';
import { ensureInternalKey, internalKeyFiles } from '../../app/dev/stack/internal-key.ts';
import { createInternalKeys } from '../../app/internal-api/check-api-key.ts';
import { createLog } from '../../app/telemetry/log.ts';

test('the first start creates a key that the app accepts, and later ones keep it', async (t) => {
  const secrets = await mkdtemp(path.join(tmpdir(), 'probatio-secrets-'));
  t.teardown(() => rm(secrets, { recursive: true }));
  const files = internalKeyFiles({ secrets });
  const readKey = () => readFile(files.key, 'utf8');
  const admit = async () => {
    const keys = createInternalKeys({ file: files.hashes, log: createLog('silent') });
    return keys.admit(await readKey());
  };

  await ensureInternalKey(files);
  const key = await readKey();
  t.deepEqual(await admit(), { internalKey: 'development' });
  for (const file of Object.values(files)) t.is((await stat(file)).mode & 0o777, 0o600);
  await ensureInternalKey(files);
  t.is(await readKey(), key);

  // A start that was killed halfway leaves the files like this.
  await rm(files.key);
  await ensureInternalKey(files);
  t.not(await readKey(), key);
  t.deepEqual(await admit(), { internalKey: 'development' });
});
