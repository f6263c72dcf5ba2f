import type { ExecutionContext } from 'ava';
import type { z } from 'zod';
import type { Credentials } from '../../client/accounts/accounts.ts';
import type { Vault } from '../support/vault/vault.ts';
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
