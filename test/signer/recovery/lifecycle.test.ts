import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import test from 'ava';
import { SignerUnavailable } from '../../../signer/protocol/signer-error.ts';
import { sampleText } from '../sample-entry.ts';
import { countOf } from '../signer-metrics.ts';
import {
  createTokenFixture,
  hsmProcess,
  startSigner,
  until,
  type TokenFixture,
} from '../../support/audit/token-fixture.ts';

async function withFixture(use: (fixture: TokenFixture) => Promise<void>): Promise<void> {
  const fixture = await createTokenFixture();
  try {
    await use(fixture);
  } finally {
    await fixture.remove();
  }
}

test.serial('init creates the token and its keys once', (t) =>
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
  }),
);

test.serial('a signer without its token responds 503, and serves once the token exists', (t) =>
  withFixture(async (fixture) => {
    const signer = await startSigner(fixture);
    const error = await t.throwsAsync(signer.seal([sampleText()]), {
      instanceOf: SignerUnavailable,
    });
    t.like(await signer.client.health(), { status: 'error', token: 'unavailable' });
    t.is(error?.code, 'hsm_unavailable');
    await until(async () => countOf(await signer.metrics(), 'C_GetSlotList') > 3);
    const told = signer
      .output()
      .split('\n')
      .filter((line) => line.includes('"level":"error"'));
    t.is(told.length, 1, told.join('\n'));
    t.regex(told[0] ?? '', /"msg":"no token has the label of SIGNER_TOKEN_LABEL: [^"]*`init`/);
    t.notRegex(signer.output(), /"stack"/);
    await fixture.tool('init');
    await until(async () => (await signer.client.health()).token === 'ready');
    t.true('hash' in ((await signer.seal([sampleText()]))[0] ?? {}));
    t.is(await signer.stop(), 0);
  }),
);

test.serial('a wrong PIN is tried only once and appears in no output', (t) =>
  withFixture(async (fixture) => {
    await fixture.tool('init');
    await writeFile(fixture.environment.SIGNER_PIN_FILE, 'not-the-right-pin');
    const signer = await startSigner(fixture);
    const calls = [
      () => signer.client.seal('0'.repeat(32), [sampleText()]),
      () => signer.client.mac('decoy'),
      () => signer.client.listKeys(),
    ];
    for (const call of calls) {
      const error = await t.throwsAsync(call, { instanceOf: SignerUnavailable });
      t.is(error?.code, 'pin_incorrect');
    }
    t.like(await signer.client.health(), { status: 'error', token: 'pin_incorrect' });
    await until(async () => (await hsmProcess(signer)) === undefined);
    t.is(countOf(await signer.metrics(), 'C_Login'), 1);
    await signer.stop();
    t.false(signer.output().includes('not-the-right-pin'));
  }),
);

test.serial('the correct PIN appears in no output, not even at log level trace', (t) =>
  withFixture(async (fixture) => {
    const outputs = [await fixture.tool('init'), await fixture.tool('list')];
    const signer = await startSigner(fixture);
    await signer.seal([sampleText()]);
    outputs.push(await signer.metrics());
    await signer.stop();
    outputs.push(signer.output());
    t.false(outputs.some((output) => output.includes(fixture.pin)));
  }),
);

test.serial('all problems of the configuration are reported together, without values', (t) =>
  withFixture(async (fixture) => {
    const bad = { SIGNER_SESSIONS: 'umpteen', SIGNER_TOKEN_LABEL: '', SIGNER_PIN_FILE: '/missing' };
    const error = await t.throwsAsync(startSigner(fixture, bad));
    for (const name of Object.keys(bad)) t.true(error?.message.includes(name), name);
    t.false(error?.message.includes('umpteen'));
  }),
);

test.serial('a client works again after SIGKILL and a restart of the signer', (t) =>
  withFixture(async (fixture) => {
    await fixture.tool('init');
    const first = await startSigner(fixture);
    const { client } = first;
    const keyId = await first.keyId('audit');
    first.process.kill('SIGKILL');
    const during = await client.seal(keyId, [sampleText()]).catch((error: unknown) => error);
    t.true(during instanceof SignerUnavailable || Array.isArray(during));
    const second = await startSigner(fixture);
    await until(async () => (await client.health()).token === 'ready');
    t.true('hash' in ((await client.seal(keyId, [sampleText()]))[0] ?? {}));
    client.close();
    await second.stop();
  }),
);

test.serial('after SIGTERM a signer finishes a batch in flight and exits by itself', (t) =>
  withFixture(async (fixture) => {
    await fixture.tool('init');
    const signer = await startSigner(fixture);
    const keyId = await signer.keyId('audit');
    const entries = Array.from({ length: 256 }, () => sampleText());
    const batch = signer.client.seal(keyId, entries);
    await until(async () => countOf(await signer.metrics(), 'C_SignInit') > 0);
    signer.process.kill('SIGTERM');
    t.true((await batch).every((result) => 'hash' in result));
    if (signer.process.exitCode === null) await once(signer.process, 'exit');
    t.is(signer.process.exitCode, 0);
    await t.throwsAsync(stat(fixture.environment.SIGNER_SOCKET_PATH), { code: 'ENOENT' });
  }),
);

test.serial('after SIGTERM a signer does not wait for incomplete requests', (t) =>
  withFixture(async (fixture) => {
    await fixture.tool('init');
    const timeout = { SIGNER_OPERATION_TIMEOUT_MS: '5000' };
    for (const sent of ['', 'POST /v1/seal HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{']) {
      const signer = await startSigner(fixture, timeout);
      const connection = connect(fixture.environment.SIGNER_SOCKET_PATH);
      connection.on('error', () => undefined);
      await once(connection, 'connect');
      connection.write(sent);
      await signer.client.listKeys();
      signer.process.kill('SIGTERM');
      await until(() => signer.process.exitCode !== null);
      t.is(signer.process.exitCode, 0);
      t.regex(signer.output(), /"stopped"/);
      connection.destroy();
      signer.client.close();
    }
  }),
);

test.serial('a socket in use is not replaced, and only its owner and group can connect', (t) =>
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
  }),
);

test.serial('the thread pool has room for every session', (t) =>
  withFixture(async (fixture) => {
    await fixture.tool('init');
    const signer = await startSigner(fixture, { SIGNER_SESSIONS: '24' });
    const threads = async (): Promise<number> => {
      const status = await readFile(`/proc/${await hsmProcess(signer)}/status`, 'utf8');
      return Number(/^Threads:\s+(\d+)/m.exec(status)?.[1]);
    };
    await signer.seal([sampleText()]);
    t.true((await threads()) > 24);
    await signer.stop();
  }),
);
