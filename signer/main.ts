import { availableParallelism } from 'node:os';
import { pino } from 'pino';
import { ConfigError, loadSignerConfig } from './config.ts';
import type { SignerConfig } from './config.ts';
import { Hsm } from './hsm.ts';
import { createMetrics } from './metrics.ts';
import { createSealer } from './sealer.ts';
import { createSignerServer } from './server.ts';
import { createTokenSigner } from './token-signer.ts';
import { listenOnSocket } from './unix-socket.ts';
import { startVerifier } from './verifier.ts';

const config = readConfig();
// Read by libuv when the pool is first used. Each session may hold a thread for as long as the HSM
// takes; the rest of the process needs threads beside them.
process.env.UV_THREADPOOL_SIZE ??= String(config.sessions + availableParallelism());

const log = pino({ name: 'signer', level: config.logLevel });
const metrics = createMetrics(() => ({
  state: hsm.state,
  sessionsInUse: hsm.sessionsInUse,
  sessionsMax: config.sessions,
  queueDepth: hsm.queueDepth,
}));
const hsm = new Hsm({
  ...config,
  log,
  observe(operation, seconds, returnValue) {
    metrics.operationSeconds.observe({ operation }, seconds);
    if (returnValue !== 'CKR_OK')
      metrics.operationErrors.inc({ operation, return_value: returnValue });
  },
});
const verifier = startVerifier();
const server = createSignerServer({
  hsm,
  sealer: createSealer({ hsm, verifier, metrics, lanes: config.sessions }),
  tokenSigner: createTokenSigner({ hsm, metrics, clock: () => new Date() }),
  metrics,
  log,
});

process.once('SIGTERM', stop);
process.once('SIGINT', stop);

try {
  await listenOnSocket(server, config.socketPath);
  log.info({ socketPath: config.socketPath }, 'listening');
  hsm.start();
} catch (error) {
  log.fatal({ err: error }, 'cannot listen');
  process.exitCode = 1;
  await verifier.close();
}

function stop(signal: NodeJS.Signals): void {
  log.info({ signal }, 'stopping');
  server.close(() => {
    void Promise.all([hsm.close(), verifier.close()]).then(() => log.info('stopped'));
  });
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
