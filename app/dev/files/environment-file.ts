import { rename, writeFile } from 'node:fs/promises';

/**
 * Writes variables for the commands of operators to a file that other users cannot read:
 * `node --env-file=var/environment app/cli.ts …` works while the stack runs, and so does
 * signer/cli.ts.
 */
export async function writeEnvironmentFile(
  path: string,
  variables: Record<string, string>,
): Promise<void> {
  const lines = Object.entries(variables).map(([name, value]) => `${name}="${value}"\n`);
  await writeFile(`${path}.new`, lines.join(''), { mode: 0o600 });
  await rename(`${path}.new`, path);
}
