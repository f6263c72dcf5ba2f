import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runGuarded } from '../processes/guarded-process.ts';
import { lockFile, type Layout } from '../files/layout.ts';
import { inheritedEnvironment, nodeProcess } from '../processes/node-process.ts';
import { loadSecret } from '../files/secrets.ts';

/**
 * Writes the configuration of SoftHSM and resolves with the environment variables with which a
 * signer finds its token. The PIN stays in a file, so that neither command-line arguments nor
 * environment variables contain it.
 */
export async function tokenEnvironment(
  layout: Layout,
  library: string,
): Promise<Record<string, string>> {
  const tokens = join(layout.softhsm, 'tokens');
  const configuration = join(layout.softhsm, 'softhsm2.conf');
  await mkdir(tokens, { recursive: true, mode: 0o700 });
  // The file is written at every start because the checkout may have moved.
  await writeFile(
    configuration,
    `directories.tokendir = ${tokens}\nobjectstore.backend = file\nlog.level = ERROR\n`,
  );
  return {
    SOFTHSM2_CONF: configuration,
    SIGNER_LIBRARY: library,
    SIGNER_TOKEN_LABEL: 'probatio',
    SIGNER_PIN_FILE: (await loadSecret(layout.secrets, 'signer-pin')).file,
  };
}

/** Creates the token and the signer's keys if they are missing. */
export async function initialiseToken(
  layout: Layout,
  environment: Record<string, string>,
  signal?: AbortSignal,
): Promise<void> {
  const securityOfficerPin = await loadSecret(layout.secrets, 'signer-so-pin');
  const spec = nodeProcess('signer init', ['signer/cli.ts', 'init'], {
    ...inheritedEnvironment(),
    ...environment,
    SIGNER_SO_PIN_FILE: securityOfficerPin.file,
  });
  await runGuarded({ ...spec, lockFile: lockFile(layout, 'signer') }, signal);
}
