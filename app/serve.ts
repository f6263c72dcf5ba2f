import { createApp, type AppParts } from './app.ts';
import { loadConfig, type Config } from './config/config.ts';
import { ConfigError } from './config/environment.ts';
import { createProxyTrust } from './http/requests/client-address.ts';
import { listen } from './http/server/server.ts';
import { StartRefused, startRefusedExitCode } from './errors/start-refused.ts';
import { startServices } from './wiring/services.ts';
import { createLog, type Log } from './telemetry/log.ts';

/**
 * Starts the services and listens. Drains and stops after a stop signal, or when a late check
 * refuses this start.
 */
async function main(config: Config, log: Log): Promise<void> {
  const services = await startServices(config, log);
  const { http } = config;
  const trust = createProxyTrust(http.trustedProxies);
  const parts = { config, services, trust, log };
  const server = await listen(createApp(parts, 'public'), { ...http, ...trust }, log);
  log.info({ host: http.host, port: server.port }, 'listening');
  const internal = await listenInternally(parts);

  const end = await Promise.race([nextStopSignal(), services.refused]);
  if (typeof end === 'string') log.info({ signal: end }, 'draining');
  services.beginDrain();
  await Promise.all([server.drain(http.drainSeconds), internal?.drain(http.drainSeconds)]);
  await services.stop();
  if (end instanceof StartRefused) throw end;
  log.info('stopped');
}

/** Opens the second listener, unless the public one serves the internal routes too. */
async function listenInternally(parts: AppParts) {
  const { config, trust, log } = parts;
  const { internalRoutes, internalHost: host, internalPort: port } = config.http;
  if (internalRoutes === 'both') return undefined;
  const options = { ...config.http, ...trust, host, port };
  const server = await listen(createApp(parts, 'internal'), options, log);
  log.info({ host, port: server.port }, 'listening for internal requests');
  return server;
}

function nextStopSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, resolve);
  });
}

function readConfig(): Config | undefined {
  try {
    return loadConfig(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return undefined;
  }
}

function endFailed(error: unknown, log: Log): void {
  if (error instanceof StartRefused) {
    // The reasons have been logged already.
    process.exitCode = startRefusedExitCode;
    return;
  }
  log.fatal({ err: error }, 'ended by an error');
  process.exitCode = 1;
}

const config = readConfig();
if (config === undefined) process.exitCode = 2;
else {
  const log = createLog(config.logLevel);
  await main(config, log).catch((error) => endFailed(error, log));
  // Services that were started, and log lines that nobody reads, would keep the process alive.
  process.exit();
}
