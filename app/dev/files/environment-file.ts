import { rename, writeFile } from 'node:fs/promises';

/**
 * Writes environment variables for the operators' commands to a file that other users cannot read.
 * While the stack runs, `node --env-file=var/environment app/cli.ts …` and `node
 * --env-file=var/environment signer/cli.ts …` work with this file.
 */
export async function writeEnvironmentFile(
  path: string,
  variables: Record<string, string>,
): Promise<void> {
  const lines = Object.entries(variables).map(([name, value]) => `${name}="${value}"\n`);
  await writeFile(`${path}.new`, lines.join(''), { mode: 0o600 });
  await rename(`${path}.new`, path);
}
