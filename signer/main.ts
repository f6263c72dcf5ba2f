import { ConfigError, loadSignerConfig, type SignerConfig } from './config/config.ts';
import { createDrain } from './server/drain.ts';
import { createHsm } from './hsm/hsm.ts';
import { createSignerLog } from './log/signer-log.ts';
import { createKeyDirectory } from './hsm/key-directory.ts';
import { createMetrics } from './metrics/metrics.ts';
import { createSealer } from './requests/sealer.ts';
import { createSignerServer } from './server/server.ts';
import { createTokenSigner } from './requests/token-signer.ts';
import { listenOnSocket } from './server/unix-socket.ts';
import { startVerifier } from './requests/verifier.ts';

/**
 * Threads of the pool in addition to one per session: one creates keys, and Node itself uses the
 * others.
 */
const spareThreads = 4;

const config = readConfig();
const log = createSignerLog('signer', config.logLevel);
const clock = () => new Date();
const metrics = createMetrics({ sessionsMax: config.sessions, readState: () => hsm.state });
const hsm = createHsm({
  // An operation of a session occupies a thread of the pool until the HSM responds.
  environment: { UV_THREADPOOL_SIZE: String(config.sessions + spareThreads), ...process.env },
  operationTimeoutMs: config.operationTimeoutMs,
  observe: metrics.record,
  ended: () => metrics.processEnds.inc(),
  log,
});
const keys = createKeyDirectory({ hsm, clock });
const verifier = startVerifier();
const server = createSignerServer({
  hsm,
  keys,
  sealer: createSealer({ hsm, keys, verifier, metrics }),
  tokenSigner: createTokenSigner({ hsm, keys, metrics, clock }),
  metrics,
  clock,
  log,
});
const drain = createDrain(server);

process.once('SIGTERM', (signal) => void stop(signal));
process.once('SIGINT', (signal) => void stop(signal));

try {
  await listenOnSocket(server, config.socketPath);
  log.info({ socketPath: config.socketPath }, 'listening');
  await hsm.run();
} catch (error) {
  log.fatal({ err: error }, 'the signer cannot run');
  process.exitCode = 1;
  server.close();
  server.closeAllConnections();
  await verifier.close();
  process.exit();
}

async function stop(signal: NodeJS.Signals): Promise<void> {
  log.info({ signal }, 'stopping');
  // The signer does not listen yet, so there is no request to finish.
  if (!server.listening) process.exit(0);
  await drain();
  await Promise.all([hsm.close(), verifier.close()]);
  log.info('stopped');
  // Log lines that nobody reads would keep the process alive.
  process.exit();
}

function readConfig(): SignerConfig {
  try {
    return loadSignerConfig(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return process.exit(1);
  }
}
