import { KubeConfig } from '@kubernetes/client-node';
import packageJson from './package.json' with { type: 'json' };
import { createServiceLog } from '../signer/log/log.ts';
import { terminationLogOf, writeTerminationLog } from '../signer/log/termination-log.ts';
import { ConfigError } from '../signer/protocol/process/config-error.ts';
import { exitCodes } from '../signer/protocol/process/exit-codes.ts';
import { nextStopSignal } from '../signer/protocol/process/stop-signal.ts';
import { loadSettings } from './config/settings.ts';
import { operate } from './operate.ts';

const stopping = new AbortController();
void nextStopSignal().then(() => stopping.abort());

try {
  const settings = loadSettings(process.env);
  const { version } = packageJson;
  const log = createServiceLog({ service: 'operator', version, level: settings.logLevel });
  if (settings.unknown.length > 0)
    log.warn({ variables: settings.unknown }, 'these variables are no settings');
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromDefault();
  await operate({ settings, kubeConfig, log, stop: stopping.signal });
  log.info('stopped');
  process.exit(exitCodes.ok);
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`${message}\n`);
  writeTerminationLog(terminationLogOf(process.env), message);
  process.exit(error instanceof ConfigError ? exitCodes.refused : exitCodes.failed);
}
