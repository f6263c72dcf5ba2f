import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import test from 'ava';
import { SignerUnavailable } from '../../signer/signer-error.ts';
import { sampleText } from './sample-entry.ts';
import { createTokenFixture, startSigner, until } from './token-fixture.ts';
import type { TokenFixture } from './token-fixture.ts';

async function withFixture(use: (fixture: TokenFixture) => Promise<void>): Promise<void> {
  const fixture = await createTokenFixture();
  try {
    await use(fixture);
  } finally {
    await fixture.remove();
  }
}

test('init makes the token and its keys once', (t) =>
  withFixture(async (fixture) => {
    const first = await fixture.tool('init');
    t.regex(first, /initialised token[^]*audit-1[^]*token-1[^]*mac-1/);
    const keys = await fixture.tool('list');
    t.is(
      await fixture.tool('init', { SIGNER_SO_PIN_FILE: '/dev/null' }).catch(() => 'failed'),
      'failed',
    );
    t.is(await fixture.tool('init'), 'nothing to do\n');
    t.is(await fixture.tool('list'), keys);
    t.is(keys.trim().split('\n').length, 2);
  }));

test('a signer started before its token answers 503, and serves once the token is there', (t) =>
  withFixture(async (fixture) => {
    const signer = await startSigner(fixture);
    t.deepEqual(await signer.client.health(), { status: 'error', token: 'unavailable' });
    const error = await t.throwsAsync(signer.client.seal([sampleText()]), {
      instanceOf: SignerUnavailable,
    });
    t.is(error?.code, 'hsm_unavailable');
    await fixture.tool('init');
    await until(async () => (await signer.client.health()).token === 'ready');
    t.true('hash' in ((await signer.client.seal([sampleText()]))[0] ?? {}));
    t.is(await signer.stop(), 0);
  }));

test('a wrong PIN is tried once and never again, and appears in no output', (t) =>
  withFixture(async (fixture) => {
    await fixture.tool('init');
    await writeFile(fixture.environment.SIGNER_PIN_FILE, 'not-the-right-pin');
    const signer = await startSigner(fixture);
    t.deepEqual(await signer.client.health(), { status: 'error', token: 'pin_incorrect' });
    const calls = [
      () => signer.client.seal([sampleText()]),
      () => signer.client.mac('decoy'),
      () => signer.client.listKeys(),
    ];
    for (const call of calls) {
      const error = await t.throwsAsync(call, { instanceOf: SignerUnavailable });
      t.is(error?.code, 'pin_incorrect');
    }
    t.is(countOf(await signer.metrics(), 'C_Login'), 1);
    await signer.stop();
    t.false(signer.output().includes('not-the-right-pin'));
  }));

test('the right PIN appears in no output, not even at the most talkative level', (t) =>
  withFixture(async (fixture) => {
    const outputs = [await fixture.tool('init'), await fixture.tool('list')];
    const signer = await startSigner(fixture);
    await signer.client.seal([sampleText()]);
    outputs.push(await signer.metrics());
    await signer.stop();
    outputs.push(signer.output());
    t.false(outputs.some((output) => output.includes(fixture.pin)));
  }));

test('every problem of the configuration is printed at once, without its value', (t) =>
  withFixture(async (fixture) => {
    const bad = { SIGNER_SESSIONS: 'umpteen', SIGNER_TOKEN_LABEL: '', SIGNER_PIN_FILE: '/missing' };
    const error = await t.throwsAsync(startSigner(fixture, bad));
    for (const name of Object.keys(bad)) t.true(error?.message.includes(name), name);
    t.false(error?.message.includes('umpteen'));
  }));

test('after kill -9 and a restart the same client works again', (t) =>
  withFixture(async (fixture) => {
    await fixture.tool('init');
    const first = await startSigner(fixture);
    const { client } = first;
    await client.seal([sampleText()]);
    first.process.kill('SIGKILL');
    const during = await client.seal([sampleText()]).catch((error: unknown) => error);
    t.true(during instanceof SignerUnavailable || Array.isArray(during));
    const second = await startSigner(fixture);
    await until(async () => (await client.health()).token === 'ready');
    t.true('hash' in ((await client.seal([sampleText()]))[0] ?? {}));
    client.close();
    await second.stop();
  }));

test('SIGTERM lets a batch in flight end, and the process ends by itself', (t) =>
  withFixture(async (fixture) => {
    await fixture.tool('init');
    const signer = await startSigner(fixture);
    const entries = Array.from({ length: 256 }, () => sampleText());
    const batch = signer.client.seal(entries);
    await until(async () => countOf(await signer.metrics(), 'C_Sign') > 0);
    signer.process.kill('SIGTERM');
    t.true((await batch).every((result) => 'hash' in result));
    if (signer.process.exitCode === null) await once(signer.process, 'exit');
    t.is(signer.process.exitCode, 0);
    await t.throwsAsync(stat(fixture.environment.SIGNER_SOCKET_PATH), { code: 'ENOENT' });
  }));

test('a socket that answers is left to its owner, and is open to owner and group only', (t) =>
  withFixture(async (fixture) => {
    await fixture.tool('init');
    const owner = await startSigner(fixture);
    const { mode } = await stat(fixture.environment.SIGNER_SOCKET_PATH);
    t.is(mode & 0o777, 0o660);
    const rival = await startSigner(fixture);
    if (rival.process.exitCode === null) await once(rival.process, 'exit');
    t.is(rival.process.exitCode, 1);
    t.is((await owner.client.health()).token, 'ready');
    rival.client.close();
    await owner.stop();
  }));

test('the thread pool has room for every session', (t) =>
  withFixture(async (fixture) => {
    await fixture.tool('init');
    const signer = await startSigner(fixture, { SIGNER_SESSIONS: '24' });
    const threads = async (): Promise<number> => {
      const status = await readFile(`/proc/${signer.process.pid}/status`, 'utf8');
      return Number(/^Threads:\s+(\d+)/m.exec(status)?.[1]);
    };
    await signer.client.seal([sampleText()]);
    t.true((await threads()) > 24);
    await signer.stop();
  }));

/** How often a PKCS#11 function was called. */
function countOf(metrics: string, operation: string): number {
  const line = `signer_pkcs11_operation_seconds_count{operation="${operation}"} `;
  const errors = `signer_pkcs11_errors_total{operation="${operation}",`;
  return metrics
    .split('\n')
    .filter((each) => each.startsWith(line) || each.startsWith(errors))
    .map((each) => Number(each.split(' ').at(-1)))
    .reduce((sum, count) => Math.max(sum, count), 0);
}
