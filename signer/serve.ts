import type { Registry } from 'prom-client';
import type { Logger } from 'pino';
import { createProcessRegistry } from './protocol/metrics/process-registry.ts';
import { loadSignerConfig, type SignerConfig } from './config/config.ts';
import { refuseStart } from './config/refused-start.ts';
import { createDrain } from './server/drain.ts';
import { createHsm } from './hsm/hsm.ts';
import { createSignerLog, findVersion } from './log/signer-log.ts';
import { terminationLogOf, writeTerminationLog } from './log/termination-log.ts';
import { createKeyDirectory } from './hsm/key-directory.ts';
import { createMetrics } from './metrics/metrics.ts';
import { createMeter } from './protocol/metrics/meter.ts';
import { listenForScrapes } from './protocol/metrics/metrics-listener.ts';
import { ConfigError } from './protocol/process/config-error.ts';
import { exitCodes } from './protocol/process/exit-codes.ts';
import { startTracing } from './protocol/tracing/start-tracing.ts';
import { ListenError } from './protocol/process/listen-error.ts';
import { createKeyProof } from './requests/key-proof.ts';
import { createKeyRecordSealer } from './requests/key-records.ts';
import { createMarkSealer } from './requests/marks.ts';
import { createSealer } from './requests/sealer.ts';
import { createSignerServer } from './server/server.ts';
import { createTokenLimits } from './requests/token-limits.ts';
import { createTokenSigner } from './requests/token-signer.ts';
import { listenOnSocket } from './server/unix-socket.ts';
import { startVerifier } from './requests/verifier.ts';

/**
 * Threads of the pool in addition to one per session: one creates keys, and Node itself uses the
 * others.
 */
const spareThreads = 4;

/** Runs the signer until a stop signal or an error ends it. Ends the process. */
export async function serve(stopSignal: Promise<NodeJS.Signals>): Promise<void> {
  const config = readConfig();
  const log = createSignerLog('signer', config.logLevel);
  const tracing = await startTracing({
    service: 'probatio-signer',
    version: findVersion(),
    settings: config.tracing,
    log,
  });
  const registry = createProcessRegistry();
  const { hsm, server, verifier } = createParts(config, registry, log);
  const drain = createDrain(server);
  void stopSignal.then(stop);

  try {
    await listenOnSocket(server, config.socketPath);
    // The probe of the start in Kubernetes takes an answer of `/live` for a signer that listens.
    await serveMetrics(config, registry, log);
    remark(config, log);
    log.info({ socketPath: config.socketPath }, 'listening');
    await hsm.run();
  } catch (error) {
    if (error instanceof ListenError) log.fatal({ code: error.code }, error.message);
    else log.fatal({ err: error }, 'the signer cannot run');
    process.exitCode = endFailed(error);
    server.close();
    server.closeAllConnections();
    await verifier.close();
    process.exit();
  }

  async function stop(signal: NodeJS.Signals): Promise<void> {
    log.info({ signal }, 'stopping');
    // The signer does not listen yet, so there is no request to finish.
    if (!server.listening) process.exit(exitCodes.ok);
    await drain();
    await Promise.all([hsm.close(), verifier.close()]);
    await tracing.stop();
    log.info('stopped');
    // Log lines that nobody reads would keep the process alive.
    process.exit();
  }
}

/** Creates the server and what it serves requests with. Nothing runs yet but the verifier. */
function createParts(config: SignerConfig, registry: Registry, log: Logger) {
  const { issuers } = config;
  const clock = () => new Date();
  const metrics = createMetrics({
    meter: createMeter(registry),
    sessionsMax: config.sessions,
    readState: () => hsm.state,
  });
  const hsm = createHsm({
    // An operation of a session occupies a thread of the pool until the HSM responds.
    environment: { UV_THREADPOOL_SIZE: String(config.sessions + spareThreads), ...process.env },
    operationTimeoutMs: config.operationTimeoutMs,
    observe: metrics.record,
    ended: () => metrics.processEnds.add({}),
    log,
  });
  const keys = createKeyDirectory({ hsm, clock });
  const tokenLimits = createTokenLimits({
    perUser: config.tokensPerUser,
    inAll: config.tokensPerSecond,
    metrics,
    log,
  });
  const verifier = startVerifier();
  const sealer = createSealer({ hsm, keys, verifier, metrics, issuers, clock });
  const server = createSignerServer({
    hsm,
    keys,
    sealer,
    keyRecordSealer: createKeyRecordSealer({ keys, sealer, proves: createKeyProof({ hsm }) }),
    markSealer: createMarkSealer({ sealer }),
    tokenSigner: createTokenSigner({ hsm, keys, metrics, issuers, clock, limits: tokenLimits }),
    metrics,
    issuers,
    clock,
    log,
  });
  return { hsm, server, verifier };
}

/** Serves `/metrics` and `/live` if they have a port. Throws ListenError. */
async function serveMetrics(
  { metrics: { host, port } }: SignerConfig,
  registry: Registry,
  log: Logger,
): Promise<void> {
  if (port === undefined) return;
  const options = { host, port, registry, hasLiveness: true };
  const variables = { host: 'SIGNER_METRICS_HOST', port: 'SIGNER_METRICS_PORT' };
  try {
    const listener = await listenForScrapes(options);
    log.info({ host, port: listener.port }, 'listening for scrapes');
  } catch (error) {
    throw new ListenError(error as NodeJS.ErrnoException, variables);
  }
}

/** Logs what is worth a look in the settings, in a line each. */
function remark({ unknown, weaknesses: weaker }: SignerConfig, log: Logger): void {
  if (unknown.length > 0) log.warn({ variables: unknown }, 'these variables are no settings');
  if (weaker.length > 0) log.warn({ weaker }, 'these settings are weaker than recommended');
}

/** Tells Kubernetes why the signer ends, and returns the exit code. */
function endFailed(error: unknown): number {
  // The HSM process has told the reason itself.
  if (error instanceof ConfigError) return exitCodes.refused;
  const reason = error instanceof Error ? error.message : 'ended by an error; see the log';
  writeTerminationLog(terminationLogOf(process.env), reason);
  return exitCodes.failed;
}

function readConfig(): SignerConfig {
  try {
    return loadSignerConfig(process.env);
  } catch (error) {
    return refuseStart(error);
  }
}
