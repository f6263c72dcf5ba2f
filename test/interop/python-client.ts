import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { z } from 'zod';
import type { Credentials } from '../../client/accounts/accounts.ts';
import { AuditProof } from '../../client/proofs/proof-format.ts';
import { temporaryDirectory } from '../support/processes/processes.ts';
import { connect } from '../support/client/user.ts';
import type { VaultSession } from '../../client/session.ts';
import type { TestVault, Vault } from '../support/vault/vault.ts';
import { runPython, type PythonRun } from './python.ts';

/**
 * Command-line options such as `{ 'page-size': '1' }`. Each value of an array is passed separately.
 */
export type Options = Readonly<Record<string, string | readonly string[]>>;

/** Runs one command of the Python client. The password is passed on standard input. */
export function runClient(
  { baseUrl }: Pick<Vault, 'baseUrl'>,
  { email, password }: Credentials,
  command: string,
  options: Options = {},
): Promise<PythonRun> {
  const given = Object.entries(options).flatMap(([name, values]) =>
    [values].flat().flatMap((value) => [`--${name}`, value]),
  );
  const args = ['--vault', baseUrl, '--email', email, command, ...given];
  return runPython('vault_client.py', args, password);
}

/** Returns the parsed output of a command. Fails the test unless the command succeeds. */
export async function askClient<T>(
  t: ExecutionContext,
  schema: z.ZodType<T>,
  ...request: Parameters<typeof runClient>
): Promise<T> {
  const { code, output, errors } = await runClient(...request);
  t.is(code, 0, errors);
  return schema.parse(JSON.parse(output));
}

/** Writes a file that the test removes, for an option of a command. Resolves with its path. */
export async function keepFile(t: ExecutionContext, content: string): Promise<string> {
  const file = join(await temporaryDirectory(t), 'kept');
  await writeFile(file, content);
  return file;
}

/** Resolves with the id of the key that signs the vault's audit entries. */
export async function readAuditKeyId(vault: Vault): Promise<string> {
  const keys = await connect(vault).auditKeys();
  return keys.find(({ purpose }) => purpose === 'audit')?.keyId ?? '';
}

const Account = z.object({ identity: z.string() });

/** Creates an account by the Python client. Resolves with the fingerprint of its identity too. */
export async function createPythonUser(t: ExecutionContext, vault: TestVault) {
  const user = { email: `${randomUUID()}@vault.test`, password: randomUUID() };
  const options = { mail: vault.mailDirectory };
  const { identity } = await askClient(t, Account, vault, user, 'create-account', options);
  return { user, fingerprint: identity };
}

const Sealed = z.object({ documentId: z.uuid(), proof: AuditProof });

/** Stores and seals a text by the Python client. */
export async function sealText(t: ExecutionContext, vault: Vault, user: Credentials, text: string) {
  const file = await keepFile(t, text);
  const auditKey = await readAuditKeyId(vault);
  const options = { file, 'media-type': 'text/plain', 'audit-key': auditKey };
  return askClient(t, Sealed, vault, user, 'seal', options);
}

/**
 * Resolves with the proofs of what was done with a resource, oldest first, once all are signed.
 */
export function proofsOf(
  t: ExecutionContext,
  vault: Vault,
  user: Credentials,
  resource: { readonly type: string; readonly id: string },
) {
  return askClient(t, z.array(AuditProof), vault, user, 'proofs', resource);
}

const Author = z.object({ action: z.string(), fingerprint: z.string().nullable() });

/** Asks the Python client who stated what a proof records. Throws what it refuses. */
export async function checkAuthor(
  t: ExecutionContext,
  vault: Vault,
  proof: AuditProof,
  options: Options = {},
) {
  const file = await keepFile(t, JSON.stringify(proof));
  const given = { proof: file, 'audit-key': await readAuditKeyId(vault), ...options };
  const nobody = { email: 'nobody@vault.test', password: '' };
  const { code, output, errors } = await runClient(vault, nobody, 'check-author', given);
  if (code !== 0) throw new Error(errors);
  return Author.parse(JSON.parse(output));
}

const Registered = z.object({ deviceId: z.uuid() });

/** Adds a device of the Python client. Resolves with its id, and the file that keeps its key. */
export async function addPythonDevice(t: ExecutionContext, vault: Vault, user: Credentials) {
  const device = join(await temporaryDirectory(t), 'device.json');
  const { deviceId } = await askClient(t, Registered, vault, user, 'add-device', { device });
  return { device, deviceId };
}

const Made = z.object({ words: z.string() });

/** Makes recovery words by the Python client; they are not set yet. */
export async function makeWords(t: ExecutionContext, vault: Vault, user: Credentials) {
  return (await askClient(t, Made, vault, user, 'new-words')).words;
}

/** Sets recovery words by the Python client. */
export async function setWordsByPython(
  t: ExecutionContext,
  vault: Vault,
  user: Credentials,
  words: string,
): Promise<void> {
  const secrets = await keepFile(t, JSON.stringify({ words }));
  await askClient(t, z.strictObject({}), vault, user, 'set-words', { secrets });
}

/** Sets the password of `user` by recovery words. Throws what the Python client refuses. */
export async function recoverByPython(
  t: ExecutionContext,
  vault: Vault,
  user: Credentials,
  words: string,
): Promise<void> {
  const secrets = await keepFile(t, JSON.stringify({ words }));
  const { code, errors } = await runClient(vault, user, 'recover', { secrets });
  if (code !== 0) throw new Error(errors);
}

const Rekeyed = z.object({ fingerprint: z.string() });

/** Makes a new master key by the Python client. Resolves with the new credentials too. */
export async function rekeyByPython(
  t: ExecutionContext,
  vault: Vault,
  user: Credentials,
  options: Options = {},
) {
  const { email, password } = user;
  const secrets = { password: `new ${password}`, words: await makeWords(t, vault, user) };
  const file = await keepFile(t, JSON.stringify(secrets));
  const given = { secrets: file, ...options };
  const { fingerprint } = await askClient(t, Rekeyed, vault, user, 'rekey', given);
  return { ...secrets, fingerprint, user: { email, password: secrets.password } };
}

/** Makes a new master key by the TypeScript client, under the same password. */
export async function rekeyByTypeScript(
  session: VaultSession,
  { password }: Credentials,
): Promise<void> {
  const draft = await session.draftRekey({ password, keepPassword: true });
  await draft.confirm(draft.words);
}
