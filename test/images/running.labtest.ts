import { writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { assertNoViolation, assertProofsVerify, untilSealed } from '../faults/audit/audit-check.ts';
import { startLoad } from '../faults/vault/load.ts';
import { createAccount, logIn } from '../faults/vault/user.ts';
import {
  createTokenSettings,
  startContainerVault,
  untilAppReady,
} from '../support/images/container-vault.ts';
import { createVolume, startContainer } from '../support/images/docker.ts';
import { temporaryDirectory } from '../support/processes/processes.ts';
import { runDemo } from '../support/processes/run-demo.ts';
import { seed, seededRandom } from '../support/runs/rounds.ts';
import { productionSettings } from '../support/vault/production.ts';
import { testStack } from '../support/vault/stack.ts';

/** The promised 10 s, and as much again for a busy machine. */
const readyMs = 20_000;
/** Kubernetes grants a process as much to end. */
const graceSeconds = 30;

test.serial('a vault of both images serves its users in production settings', async (t) => {
  const vault = await startContainerVault(t, testStack());
  await untilAppReady(vault, readyMs);
  const directory = await temporaryDirectory(t);
  await writeFile(join(directory, 'agreement.txt'), 'what was agreed');
  const { code, text } = await runDemo(t, { vault, directory, args: ['agreement.txt'] });
  t.is(code, 0, text);
  t.regex(text, /^openssl dgst -sha3-256 -verify .*: Verified OK$/m);
  t.is(await vault.app.stop(graceSeconds), 0);
  t.is(await vault.signer.stop(graceSeconds), 0);
});

test.serial('a stop under load loses nothing', async (t) => {
  t.timeout(180_000);
  t.log(`SEED=${seed}`);
  const vault = await startContainerVault(t, testStack());
  await untilAppReady(vault, readyMs);
  const user = await logIn(vault, await createAccount(vault));
  const load = startLoad(vault.baseUrl, [user], seededRandom(seed));
  await until(() => load.report.succeeded.certify >= 3, { what: 'a load', timeoutMs: 60_000 });
  t.is(await vault.app.stop(graceSeconds), 0);
  t.is(await vault.signer.stop(graceSeconds), 0);
  await vault.signer.start();
  await vault.app.start();
  await untilAppReady(vault, readyMs);
  const { store } = load.report.succeeded;
  await until(() => load.report.succeeded.store > store, { what: 'more', timeoutMs: 60_000 });
  await load.stop();
  const failures = load.report.failures.filter((text) => !isExplained(text));
  t.deepEqual(failures, []);
  t.log(`${await untilSealed(vault)} entries`);
  await assertNoViolation(t, vault);
  await assertProofsVerify(t, vault);
});

/** An app that is away, and one that is about to end. */
function isExplained(failure: string): boolean {
  return [
    /: The server could not be reached/,
    /: 503 /,
    /: 409 \w+_in_progress$/,
    /^certify: 409 document_sealed$/,
  ].some((pattern) => pattern.test(failure));
}

test.serial('an app that waits for its database ends when it is stopped', async (t) => {
  const nowhere = 'postgresql://probatio_app:secret@127.0.0.1:1/probatio';
  const objects = await createVolume(t);
  const app = await startContainer(t, 'app', {
    settings: {
      ...productionSettings,
      DATABASE_URL: nowhere,
      DATABASE_SERVICE_URL: nowhere.replace('_app', '_service'),
      REDIS_URL: 'redis://127.0.0.1:1',
      STORAGE_DRIVER: 'filesystem',
      STORAGE_DIRECTORY: '/var/lib/probatio/objects',
      MAIL_DIRECTORY: '/var/lib/probatio/objects',
    },
    volumes: [`${objects}:/var/lib/probatio/objects`],
  });
  await until(async () => (await app.log()).includes('ECONNREFUSED'), {
    what: 'the app to miss its database',
    timeoutMs: 30_000,
    intervalMs: 100,
  });
  t.is(await app.stop(graceSeconds), 0, await app.log());
});

test.serial('a signer that waits for its token ends when it is stopped', async (t) => {
  const { settings, volumes } = await createTokenSettings(t);
  const socket = await createVolume(t);
  const signer = await startContainer(t, 'signer', {
    settings,
    volumes: [...volumes, `${socket}:/run/probatio`],
  });
  await until(async () => (await signer.log()).includes('no token has the label'), {
    what: 'the signer to miss its token',
    timeoutMs: 30_000,
    intervalMs: 100,
  });
  t.is(await signer.stop(graceSeconds), 0, await signer.log());
});

for (const target of ['app', 'signer'] as const) {
  test.serial(`the image of the ${target} runs its commands`, async (t) => {
    const container = await startContainer(t, target, {
      settings: {},
      command: ['node', `${target}/cli.ts`, '--help'],
    });
    t.is(await container.wait(), 0);
    t.regex(await container.log(), /^usage: /);
  });

  test.serial(`SIGTERM ends a process of the ${target} that does not handle it`, async (t) => {
    const container = await startContainer(t, target, {
      settings: {},
      command: ['node', '-e', 'setInterval(() => undefined, 1_000)'],
    });
    t.is(await container.stop(graceSeconds), 128 + constants.signals.SIGTERM);
  });
}

test.serial('the image of the provisioner says which commands it has', async (t) => {
  const container = await startContainer(t, 'provisioner', { settings: {} });
  t.is(await container.wait(), 0);
  t.regex(await container.log(), /^usage: node signer\/provisioner\/main\.ts/m);
});
