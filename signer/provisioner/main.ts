import { createSignerLog } from '../log/signer-log.ts';
import { terminationLogOf, writeTerminationLog } from '../log/termination-log.ts';
import { ConfigError } from '../protocol/process/config-error.ts';
import { exitCodes } from '../protocol/process/exit-codes.ts';
import { SigningPurpose } from '../protocol/protocol.ts';
import { createApiServer } from './api-server.ts';
import { bootstrap } from './bootstrap.ts';
import { createDeployments } from './deployments.ts';
import { keygen } from './keygen.ts';
import { createSecrets } from './secrets.ts';
import { loadProvisionerSettings } from './settings.ts';

const usageText = `usage: node signer/provisioner/main.ts <command>

  bootstrap              make the Secrets of a token of SoftHSM and of internal API keys, unless
                         they exist
  keygen <audit|token>   make the next key in the Secret of the token, and restart the pods

Both run as Jobs of the Helm chart (signer.token.mode: softhsm).
`;

const helpFlags: ReadonlySet<string> = new Set(['--help', '-h']);

class UsageError extends Error {}

/** Runs a command. Throws UsageError for wrong arguments. */
async function run([command = '', ...args]: readonly string[]): Promise<void> {
  if (helpFlags.has(command)) return void process.stdout.write(usageText);
  const purpose = SigningPurpose.safeParse(args[0]);
  const isBootstrap = command === 'bootstrap' && args.length === 0;
  const isKeygen = command === 'keygen' && args.length === 1 && purpose.success;
  if (!isBootstrap && !isKeygen)
    throw new UsageError('give bootstrap, keygen audit or keygen token');
  const settings = loadProvisionerSettings(process.env);
  const log = createSignerLog('provisioner', settings.logLevel);
  if (settings.unknown.length > 0)
    log.warn({ variables: settings.unknown }, 'these variables are no settings');
  const { namespace, jobUid } = settings;
  const ask = createApiServer(settings.apiServer);
  const secrets = createSecrets({ ask, namespace });
  if (purpose.data === undefined) return bootstrap({ settings, secrets, log });
  if (jobUid === undefined)
    throw new ConfigError(['PROVISIONER_JOB_UID: is not set; set it to the uid of the Job']);
  const deployments = createDeployments({ ask, namespace });
  return keygen({
    settings: { ...settings, jobUid },
    purpose: purpose.data,
    secrets,
    deployments,
    log,
  });
}

function codeOf(error: unknown): number {
  if (error instanceof UsageError) return exitCodes.misused;
  return error instanceof ConfigError ? exitCodes.refused : exitCodes.failed;
}

try {
  await run(process.argv.slice(2));
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(error instanceof UsageError ? `${message}\n\n${usageText}` : `${message}\n`);
  writeTerminationLog(terminationLogOf(process.env), message);
  process.exitCode = codeOf(error);
}
