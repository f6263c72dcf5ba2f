import { randomBytes } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openDocument } from '../../client/documents/open-document.ts';
import { downloadFile } from '../../client/downloads/download.ts';
import { verifyProof } from '../../client/proofs/verify-proof.ts';
import { createAccount, logIn } from '../faults/vault/user.ts';
import { collect } from '../support/client/collect.ts';
import { storeBytes, toolsOf } from '../support/client/stored.ts';
import {
  createComposeVault,
  type ComposeVault,
  type Inspected,
} from '../support/compose/compose-vault.ts';
import { runDemo } from '../support/processes/run-demo.ts';
import { temporaryDirectory } from '../support/processes/processes.ts';

const limitMs = 600_000;

/** Some files of secrets, each with its volume; all values are in the first. */
const secretFiles = [
  ['secrets', 'secrets.json'],
  ['secrets-signer', 'pin'],
  ['secrets-app', 'database-url'],
] as const;

function readFiles(vault: ComposeVault, files: typeof secretFiles): Promise<readonly string[]> {
  return Promise.all(
    files.map(async ([volume, name]) =>
      readFile(join(await vault.directoryOf(volume), name), 'utf8'),
    ),
  );
}

test.serial('a start without secrets names the command that makes them', async (t) => {
  t.timeout(limitMs);
  const { compose } = await createComposeVault(t);
  const { code, text } = await compose('up', '--wait');
  t.is(code, 1, text);
  t.regex(text, /^service "run-secrets-first" didn't complete successfully: exit 1$/m);
  const log = await compose('logs', '--no-log-prefix', 'run-secrets-first');
  t.is(log.text, 'There are no secrets yet. Make them once: docker compose run --rm secrets\n');
});

test.serial('a vault serves its users, and keeps all it has when it is down', async (t) => {
  t.timeout(limitMs);
  const vault = await createComposeVault(t);
  const { compose, baseUrl, mailDirectory } = vault;
  const succeeds = async (...args: readonly string[]) => {
    const { code, text } = await compose(...args);
    t.is(code, 0, text);
    return text;
  };

  t.regex(await succeeds('run', '--rm', 'secrets'), /^Made \d+ secrets\.$/m);
  const made = await readFiles(vault, secretFiles);
  t.regex(await succeeds('run', '--rm', 'secrets'), /^No secret is missing\.$/m);
  // A run that was killed leaves files out; the next one has to make them of the same values.
  const [, ...missing] = secretFiles;
  for (const [volume, name] of missing) await rm(join(await vault.directoryOf(volume), name));
  t.regex(await succeeds('run', '--rm', 'secrets'), /^Made 2 secrets\.$/m);
  t.deepEqual(await readFiles(vault, secretFiles), made);
  const secrets = JSON.parse(made[0] ?? '') as Readonly<Record<string, string>>;
  await succeeds('up', '--wait');

  const directory = await temporaryDirectory(t);
  await writeFile(join(directory, 'agreement.txt'), randomBytes(1_000));
  const mailpit = 'http://127.0.0.1:8025';
  const demo = await runDemo(t, { vault, mailpit, directory, args: ['agreement.txt'] });
  t.is(demo.code, 0, demo.text);
  t.regex(demo.text, /^openssl dgst -sha3-256 -verify .*: Verified OK$/m);

  const account = await createAccount({ baseUrl, mailDirectory });
  const user = await logIn(vault, account);
  const { document, bytes } = await storeBytes({ ...user, credentials: account }, 200_000);
  const { proofId } = await user.session.documents.certify(document.id);
  const proof = await user.session.proofs.get(proofId);
  const verified = await succeeds('run', '--rm', '--no-deps', 'maintenance', 'verify-log');
  t.regex(verified, /"damagedEntries":0,"missingEntries":0/);
  const containers = await vault.inspect();
  assertConfined(t, containers);
  const told = [JSON.stringify([...containers]), await succeeds('config'), await succeeds('logs')];
  const leaked = Object.entries(secrets).filter(([, text]) =>
    told.some((each) => each.includes(text)),
  );
  t.deepEqual(
    leaked.map(([name]) => name),
    [],
    'secrets that Docker or a log shows',
  );

  // A container that does not end by itself is killed after this time, and has another code.
  await succeeds('stop', '--timeout=10', 'app');
  t.is((await vault.inspect()).get('app')?.State.ExitCode, 0);
  await succeeds('down');
  t.is((await vault.inspect()).size, 0);
  await succeeds('up', '--wait');

  const { session, masterKey } = await logIn(vault, account);
  const file = await openDocument(session, { id: document.id, masterKey });
  t.deepEqual(await collect(downloadFile(toolsOf(session), file)), new Uint8Array(bytes));
  const kept = await session.proofs.get(proofId);
  t.deepEqual(kept, proof);
  t.true(verifyProof(kept, { trustedKeys: [proof.hsmKeyId] }).valid);
});

/** Asserts what each container may do, and which of them see the secrets that few may see. */
function assertConfined(t: ExecutionContext, containers: ReadonlyMap<string, Inspected>): void {
  t.true(containers.size >= 11);
  for (const [service, { HostConfig }] of containers) {
    const { ReadonlyRootfs, Privileged, CapAdd, CapDrop, SecurityOpt, PortBindings } = HostConfig;
    t.true(ReadonlyRootfs, service);
    t.false(Privileged, service);
    t.is(CapAdd, null, service);
    t.deepEqual(CapDrop, ['ALL'], service);
    t.deepEqual(SecurityOpt, ['no-new-privileges:true'], service);
    for (const { HostIp } of Object.values(PortBindings ?? {}).flat()) t.is(HostIp, '127.0.0.1');
  }
  const readersOf = (volume: string) =>
    [...containers]
      .filter(([, { Mounts }]) => Mounts.some(({ Name = '' }) => Name.endsWith(`_${volume}`)))
      .map(([service]) => service)
      .toSorted();
  t.deepEqual(readersOf('secrets'), []);
  t.deepEqual(readersOf('secrets-signer'), ['signer', 'token']);
  t.deepEqual(readersOf('secrets-token'), ['token']);
  t.deepEqual(readersOf('secrets-owner'), ['migrate']);
  const writable = [...containers.values()].flatMap(({ Mounts }) => Mounts.filter(({ RW }) => RW));
  t.deepEqual(
    writable.filter(({ Name = '' }) => Name.includes('_secrets')),
    [],
  );
}
