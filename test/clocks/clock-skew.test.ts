import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import anyTest, { type TestFn } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { createPerson } from '../support/documents/people.ts';
import { createApi, type Answer } from '../support/documents/uploads.ts';
import { fileOf } from '../support/documents/files.ts';
import { startReplica, type Replica } from '../support/documents/replica.ts';
import { startVault, type TestVault } from '../support/vault/vault.ts';

interface Shifted {
  readonly vault: TestVault;
  readonly replica: Replica;
  readonly directory: string;
  /** Sets the seconds by which the clock of the replica is ahead. */
  readonly shift: (seconds: number) => Promise<void>;
}

const test = anyTest as TestFn<Shifted>;

test.before(async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'probatio-clock-'));
  const file = join(directory, 'shift');
  const shift = (seconds: number) => writeFile(file, String(seconds * 1_000));
  await shift(0);
  const vault = await startVault();
  const preload = new URL('../support/processes/shifted-clock.ts', import.meta.url).href;
  const replica = await startReplica(vault, { CLOCK_SHIFT_FILE: file }, ['--import', preload]);
  t.context = { vault, replica, shift, directory };
});

test.after.always(async ({ context: { vault, replica, directory } }) => {
  await replica.process.stop();
  await vault.stop();
  await rm(directory, { recursive: true });
});

test.afterEach.always((t) => t.context.shift(0));

interface Health {
  readonly status: string;
  readonly checks: Readonly<Record<string, { readonly error?: string }>>;
}

const healthOf = async ({ baseUrl }: Replica): Promise<Health> =>
  (await (await fetch(`${baseUrl}/health`)).json()) as Health;

const codeOf = ({ status, body }: Answer) => `${status} ${String(body.code)}`;

const jumps = [
  { seconds: 600, refusal: '503 clock_skew' },
  { seconds: -600, refusal: '503 clock_skew' },
  { seconds: 25 * 3_600, refusal: '401 token_expired' },
];

for (const { seconds, refusal } of jumps) {
  test.serial(`a clock that is set by ${seconds} s records nothing from then on`, async (t) => {
    const { vault, replica, shift } = t.context;
    const { api } = await createPerson({ ...vault, baseUrl: replica.baseUrl });
    const open = () => api.send('POST', '/v1/uploads', { json: fileOf(10) });
    t.is((await open()).status, 201);
    await shift(seconds);
    t.is(codeOf(await open()), refusal);
    await shift(0);
    t.is((await open()).status, 201);
  });
}

test.serial('a token from the future is refused', async (t) => {
  const { vault, replica, shift } = t.context;
  const { api } = await createPerson(vault);
  const list = () =>
    fetch(`${replica.baseUrl}/v1/documents`, { headers: { authorization: `Bearer ${api.token}` } });
  await shift(-600);
  t.is((await list()).status, 401);
  await shift(0);
  t.is((await list()).status, 200);
});

test.serial('ten seconds are degraded, and an alert, and everything works', async (t) => {
  const { vault, replica, shift } = t.context;
  await shift(10);
  await until(async () => (await healthOf(replica)).status === 'degraded', {
    what: 'a degraded health',
    timeoutMs: 60_000,
  });
  const { checks } = await healthOf(replica);
  t.is(checks['database']?.error, 'clock_skew');
  t.is(checks['signer']?.error, 'clock_skew');
  t.is((await fetch(`${replica.baseUrl}/health/ready`)).status, 200);
  const api = await createApi({ ...vault, baseUrl: replica.baseUrl });
  t.is((await api.send('POST', '/v1/uploads', { json: fileOf(10) })).status, 201);
});
