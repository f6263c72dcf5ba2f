/** Starts the services in the directory of the argument, reports them as one line, and waits. */
import { startServices } from '../../app/dev/stack/services.ts';
import { stopSignals } from '../../app/dev/processes/stop-signals.ts';
import { testSignerSettings } from '../support/vault/stack.ts';

const [directory = ''] = process.argv.slice(2);
const signal = stopSignals();
const services = await startServices({
  directory,
  signerSettings: testSignerSettings,
  durable: true,
  log: () => undefined,
  signal,
});
const { postgres, redis, signer, signerSocketPath } = services;

/** The data that a test needs about services in another process. */
export interface ServicesReport {
  readonly pids: number[];
  readonly postgres: typeof postgres.access;
  readonly redisUrl: string;
  readonly signerSocketPath: string;
}

const report: ServicesReport = {
  pids: [postgres.pid, redis.pid, signer.pid],
  postgres: postgres.access,
  redisUrl: redis.url,
  signerSocketPath,
};
console.log(JSON.stringify(report));
