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
import { testIssuer } from '../../support/vault/stack.ts';

/** Short, so that a hanging token times out soon, yet long enough for a busy machine. */
const operationTimeoutMs = 3_000;

interface Stage {
  readonly fixture: TokenFixture;
  readonly server: TokenServer;
  start(): Promise<RunningSigner>;
}

/** Runs `use` with a token behind a socket, whose server is started, and cleans up. */
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

/** Tells whether a process runs; a zombie, which its parent has not reaped yet, does not. */
async function isRunning(pid: number | undefined): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => 'State: Z');
  return !/^State:\s+Z/m.test(status);
}

async function assertUnavailable(t: ExecutionContext, call: Promise<unknown>): Promise<void> {
  const error = await t.throwsAsync(call, { instanceOf: SignerUnavailable });
  t.is(error?.code, 'hsm_unavailable');
}

test.serial('a token behind a socket seals, signs tokens, computes MACs and creates keys', (t) =>
  withServer(async ({ start }) => {
    const signer = await start();
    const results = await signer.seal(Array.from({ length: 40 }, () => sampleText()));
    t.true(results.every((result) => 'hash' in result));
    const iat = Math.floor(Date.now() / 1000);
    const claims = { iss: testIssuer, sub: 'b', aud: 'c', jti: 'd', iat, exp: iat + 60 };
    const keyId = await signer.keyId('token');
    t.regex(
      await signer.client.signToken({ keyId, typ: 'at+jwt', claims }),
      /^[\w-]+(\.[\w-]+){2}$/,
    );
    t.is((await signer.client.mac('decoy')).length, 32);
    t.is((await signer.client.createKey('audit')).generation, 2);
  }),
);

test.serial('a signer reconnects to a token server that was killed and restarted', (t) =>
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

test.serial('a connection that died while idle is renewed before the next request', (t) =>
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

test.serial(
  'while a token hangs in a signature the signer responds, then replaces its process',
  (t) =>
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

test.serial('a token that hangs in a login is retried by new processes until it responds', (t) =>
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

test.serial('a hanging HSM process ends when the signer is killed', (t) =>
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

test.serial('a wrong PIN is tried only once on a token behind a socket', (t) =>
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
