import { readFile, writeFile } from 'node:fs/promises';
import test, { type ExecutionContext } from 'ava';
import { SignerUnavailable } from '../../../signer/protocol/signer-error.ts';
import { createTokenServer, type TokenServer } from '../../support/processes/p11-kit.ts';
import { sampleText } from '../sample-entry.ts';
import { countOf } from '../signer-metrics.ts';
import {
  createTokenFixture,
  hsmProcess,
  startSigner,
  until,
  type RunningSigner,
  type TokenFixture,
} from '../../support/audit/token-fixture.ts';

/** Short, so that a hanging token is given up soon, and long enough for a machine at work. */
const operationTimeoutMs = 3_000;

type Stage = { fixture: TokenFixture; server: TokenServer; start(): Promise<RunningSigner> };

/** A token behind a socket, which the use of it starts. */
async function withServer(use: (stage: Stage) => Promise<void>): Promise<void> {
  const fixture = await createTokenFixture();
  const signers: RunningSigner[] = [];
  const server = createTokenServer(fixture);
  try {
    await fixture.tool('init');
    await server.start();
    await use({
      fixture,
      server,
      async start() {
        const signer = await startSigner(fixture, {
          ...server.environment,
          SIGNER_OPERATION_TIMEOUT_MS: String(operationTimeoutMs),
        });
        signers.push(signer);
        return signer;
      },
    });
  } finally {
    for (const signer of signers) await signer.stop();
    await server.kill();
    await fixture.remove();
  }
}

async function seals(signer: RunningSigner, keyId: string): Promise<boolean> {
  const results = await signer.client.seal(keyId, [sampleText()]).catch(() => []);
  return results.some((result) => 'hash' in result);
}

/** A process that has ended but that nobody has asked after yet does not run. */
async function isRunning(pid: number | undefined): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => 'State: Z');
  return !/^State:\s+Z/m.test(status);
}

async function assertUnavailable(t: ExecutionContext, call: Promise<unknown>): Promise<void> {
  const error = await t.throwsAsync(call, { instanceOf: SignerUnavailable });
  t.is(error?.code, 'hsm_unavailable');
}

test.serial('entries, tokens and MACs come through a token behind a socket', (t) =>
  withServer(async ({ start }) => {
    const signer = await start();
    const results = await signer.seal(Array.from({ length: 40 }, () => sampleText()));
    t.true(results.every((result) => 'hash' in result));
    const iat = Math.floor(Date.now() / 1000);
    const claims = { iss: 'a', sub: 'b', aud: 'c', jti: 'd', iat, exp: iat + 60 };
    const keyId = await signer.keyId('token');
    t.regex(
      await signer.client.signToken({ keyId, typ: 'at+jwt', claims }),
      /^[\w-]+(\.[\w-]+){2}$/,
    );
    t.is((await signer.client.mac('decoy')).length, 32);
    t.is((await signer.client.createKey('audit')).generation, 2);
  }),
);

test.serial('a server that was killed and started again is found again', (t) =>
  withServer(async ({ server, start }) => {
    const signer = await start();
    const keyId = await signer.keyId('audit');
    await server.kill();
    await assertUnavailable(t, signer.client.seal(keyId, [sampleText()]));
    t.is((await signer.client.health()).status, 'error');
    await server.start();
    await until(() => seals(signer, keyId));
    t.is((await signer.client.health()).token, 'ready');
  }),
);

test.serial('a connection that died while idle is renewed before anyone asks for it', (t) =>
  withServer(async ({ fixture, server }) => {
    const environment = { ...server.environment, SIGNER_KEEP_ALIVE_MS: '50' };
    const signer = await startSigner(fixture, environment);
    try {
      await signer.seal([sampleText()]);
      await server.kill();
      await until(async () => (await signer.client.health()).token !== 'ready');
      await server.start();
      await until(async () => (await signer.client.health()).token === 'ready');
      t.true('hash' in ((await signer.seal([sampleText()]))[0] ?? {}));
    } finally {
      await signer.stop();
    }
  }),
);

test.serial('a token that hangs while it signs leaves the socket be, and is left behind', (t) =>
  withServer(async ({ server, start }) => {
    const signer = await start();
    const keyId = await signer.keyId('audit');
    const first = await hsmProcess(signer);
    server.hang();
    const hanging = assertUnavailable(t, signer.client.seal(keyId, [sampleText(), sampleText()]));
    t.is((await signer.client.health()).token, 'ready');
    await hanging;
    await until(async () => (await hsmProcess(signer)) !== first);
    t.is((await signer.client.health()).token, 'unavailable');
    await assertUnavailable(t, signer.client.seal(keyId, [sampleText()]));
    await assertUnavailable(t, signer.client.mac('decoy'));
    server.resume();
    await until(() => seals(signer, keyId));
    t.is((await signer.client.health()).token, 'ready');
  }),
);

test.serial('a token that hangs while it is logged in to is left behind, again and again', (t) =>
  withServer(async ({ server, start }) => {
    server.hang();
    const signer = await start();
    t.is((await signer.client.health()).status, 'error');
    await assertUnavailable(t, signer.client.listKeys());
    const first = await hsmProcess(signer);
    await until(async () => ![undefined, first].includes(await hsmProcess(signer)));
    t.is((await signer.client.health()).token, 'unavailable');
    await server.kill();
    await server.start();
    await until(async () => (await signer.client.health()).token === 'ready');
    t.true(await seals(signer, await signer.keyId('audit')));
  }),
);

test.serial('no hanging process outlives the signer', (t) =>
  withServer(async ({ server, start }) => {
    server.hang();
    const signer = await start();
    await until(async () => (await hsmProcess(signer)) !== undefined);
    const hsm = await hsmProcess(signer);
    t.true(await isRunning(hsm));
    signer.process.kill('SIGKILL');
    await until(async () => !(await isRunning(hsm)));
  }),
);

test.serial('behind a socket too a wrong PIN is tried once', (t) =>
  withServer(async ({ fixture, server, start }) => {
    await writeFile(fixture.environment.SIGNER_PIN_FILE, 'not-the-right-pin');
    const signer = await start();
    const error = await t.throwsAsync(signer.client.listKeys(), { instanceOf: SignerUnavailable });
    t.is(error?.code, 'pin_incorrect');
    await until(async () => (await hsmProcess(signer)) === undefined);
    t.is(countOf(await signer.metrics(), 'C_Login'), 1);
    await server.kill();
    await server.start();
    t.is((await signer.client.health()).token, 'pin_incorrect');
    t.is(await hsmProcess(signer), undefined);
  }),
);
