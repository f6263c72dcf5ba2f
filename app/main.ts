import { createApp } from './app.ts';
import { ConfigError, loadConfig, type Config } from './config.ts';
import { listen } from './http/server.ts';
import { startServices } from './services.ts';
import { createLog } from './telemetry/log.ts';

/** config → services → Koa → listen → drain */
async function main(config: Config): Promise<void> {
  const log = createLog(config.logLevel);
  const services = await startServices(config, log);
  const app = createApp(config, services, log);
  const server = await listen(app, config.http.host, config.http.port);
  log.info({ host: config.http.host, port: server.port }, 'listening');

  const signal = await nextStopSignal();
  log.info({ signal }, 'draining');
  services.beginDrain();
  await server.drain(config.http.drainSeconds);
  await services.stop();
  log.info('stopped');
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

const config = readConfig();
if (config === undefined) process.exitCode = 2;
else await main(config);
