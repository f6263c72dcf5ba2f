import type { Registry } from 'prom-client';
import { createProcessRegistry } from '../signer/protocol/metrics/process-registry.ts';
import { listenForScrapes } from '../signer/protocol/metrics/metrics-listener.ts';
import { terminationLogOf, writeTerminationLog } from '../signer/log/termination-log.ts';
import { ConfigError } from '../signer/protocol/process/config-error.ts';
import { exitCodes } from '../signer/protocol/process/exit-codes.ts';
import { startTracing } from '../signer/protocol/tracing/start-tracing.ts';
import type { Tracing } from '../signer/protocol/tracing/traced-program.ts';
import { ListenError, type AddressVariables } from '../signer/protocol/process/listen-error.ts';
import { createApp, type AppParts } from './app.ts';
import { loadConfig, type Config } from './config/config.ts';
import { listWeaknesses } from './config/weaknesses.ts';
import { createProxyTrust } from './http/requests/client-address.ts';
import { listen } from './http/server/server.ts';
import { StartRefused } from './errors/start-refused.ts';
import { recordCommands } from './redis/command-spans.ts';
import { about } from './telemetry/about.ts';
import { listTemplates } from './wiring/routes.ts';
import { startServices } from './wiring/services.ts';
import { createLog, type Log } from './telemetry/log.ts';
import { createMetrics } from './telemetry/metrics/metrics.ts';

/**
 * Reads the settings and runs the app until a stop signal, an error or a late check ends it. Ends
 * the process.
 */
export async function serve(stopSignal: Promise<NodeJS.Signals>): Promise<void> {
  const config = readConfig();
  if (config === undefined) {
    process.exitCode = exitCodes.refused;
    return;
  }
  const log = createLog(config.logLevel);
  const tracing = await trace(config, log);
  await main(config, stopSignal, log).catch((error) => endFailed(error, log));
  await tracing.stop();
  // Services that were started, and log lines that nobody reads, would keep the process alive.
  process.exit();
}

/** Starts to trace this process, if a receiver is set. */
async function trace({ tracing: settings }: Config, log: Log): Promise<Tracing> {
  if (settings.endpoint !== undefined) recordCommands();
  const { version } = about;
  return startTracing({ service: 'probatio-app', version, settings, log });
}

/**
 * Starts the services and listens. Drains and stops after a stop signal, or when a late check
 * refuses this start.
 */
async function main(config: Config, stopSignal: Promise<NodeJS.Signals>, log: Log): Promise<void> {
  const registry = createProcessRegistry();
  const metrics = createMetrics({ registry, routes: listTemplates() });
  // A start waits for Postgres and the object store for as long as they do not answer.
  const services = await Promise.race([startServices(config, log, metrics), stopSignal]);
  if (typeof services === 'string') {
    log.info({ signal: services }, 'stopped during the start');
    return;
  }
  remark(config, log);
  const { http } = config;
  const trust = createProxyTrust(http.trustedProxies);
  const parts = { config, services, trust, log };
  const server = await listen(createApp(parts, 'public'), { ...http, ...trust }, log).catch(
    explainListening({ host: 'HOST', port: 'PORT' }),
  );
  log.info({ host: http.host, port: server.port }, 'listening');
  const internal = await listenInternally(parts);
  await serveMetrics(config, registry, log);

  const end = await Promise.race([stopSignal, services.refused]);
  if (typeof end === 'string') log.info({ signal: end }, 'draining');
  services.beginDrain();
  await Promise.all([server.drain(http.drainSeconds), internal?.drain(http.drainSeconds)]);
  await services.stop();
  if (end instanceof StartRefused) throw end;
  log.info('stopped');
}

/** Logs what is worth a look in the settings, in a line each. */
function remark(config: Config, log: Log): void {
  const { unknown } = config.remarks;
  if (unknown.length > 0) log.warn({ variables: unknown }, 'these variables are no settings');
  const weaker = listWeaknesses(config, process.env);
  if (weaker.length > 0) log.warn({ weaker }, 'these settings are weaker than recommended');
}

/** Opens the second listener, unless the public one serves the internal routes too. */
async function listenInternally(parts: AppParts) {
  const { config, trust, log } = parts;
  const { internalRoutes, internalHost: host, internalPort: port } = config.http;
  if (internalRoutes === 'both') return undefined;
  const options = { ...config.http, ...trust, host, port };
  const server = await listen(createApp(parts, 'internal'), options, log).catch(
    explainListening({ host: 'HTTP_INTERNAL_HOST', port: 'HTTP_INTERNAL_PORT' }),
  );
  log.info({ host, port: server.port }, 'listening for internal requests');
  return server;
}

/** Serves `/metrics` until the process ends, if it has a port. */
async function serveMetrics({ metrics }: Config, registry: Registry, log: Log): Promise<void> {
  const { host, port } = metrics;
  if (port === undefined) return;
  const listener = await listenForScrapes({ host, port, registry, hasLiveness: false }).catch(
    explainListening({ host: 'METRICS_HOST', port: 'METRICS_PORT' }),
  );
  log.info({ host, port: listener.port }, 'listening for scrapes');
}

/** Returns a handler that throws a ListenError for the system's error. */
function explainListening(variables: AddressVariables) {
  return (error: NodeJS.ErrnoException): never => {
    throw new ListenError(error, variables);
  };
}

function readConfig(): Config | undefined {
  try {
    return loadConfig(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    explainEnd(error);
    return undefined;
  }
}

function endFailed(error: unknown, log: Log): void {
  explainEnd(error);
  if (error instanceof StartRefused) {
    // The reasons have been logged already.
    process.exitCode = exitCodes.refused;
    return;
  }
  if (error instanceof ListenError) log.fatal({ code: error.code }, error.message);
  else log.fatal({ err: error }, 'ended by an error');
  process.exitCode = exitCodes.failed;
}

/** Tells Kubernetes why the process ends. */
function explainEnd(error: unknown): void {
  const reason = error instanceof Error ? error.message : 'ended by an error; see the log';
  writeTerminationLog(terminationLogOf(process.env), reason);
}
