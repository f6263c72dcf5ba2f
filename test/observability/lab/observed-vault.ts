import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { collectDefaultMetrics } from 'prom-client';
import { createQueueCursor } from '../../../app/audit/sealing/queue-cursor.ts';
import type { Config } from '../../../app/config/config.ts';
import { repeat } from '../../../app/async/repeat.ts';
import { freePort } from '../../../app/dev/processes/free-port.ts';
import { openDatabase } from '../../../app/db/database.ts';
import { TaskName } from '../../../app/maintenance/schema.ts';
import { createLog } from '../../../app/telemetry/log.ts';
import { createReading } from '../../../app/telemetry/metrics/readings.ts';
import { listenForScrapes } from '../../../signer/protocol/metrics/metrics-listener.ts';
import { startDlqVault, type DlqVault } from '../../audit/dlq/dead-letters.ts';
import { startOwnPostgres, type OwnPostgres } from '../../faults/vault/own-postgres.ts';
import { send } from '../../support/http/send.ts';
import { startOwnRedis, type OwnRedis } from '../../support/network/own-redis.ts';
import type { Receiver } from '../../support/tracing/receiver.ts';
import { tracedTo, traceThisProcess } from '../../support/tracing/traced-vault.ts';
import { startOwnSigner, type OwnSigner } from '../../support/vault/own-signer.ts';
import { createTemplateDatabase } from '../../support/runs/template-database.ts';
import { testStack } from '../../support/vault/stack.ts';
import { untilReady } from '../../support/vault/vault.ts';
import { fastRules } from './fast-rules.ts';
import { startPrometheus, type Prometheus } from './prometheus.ts';

export const namespace = 'vault';
/** The app reads what the database knows every 15 s, which the short rules do not wait for. */
const readEveryMs = 500;
const host = '127.0.0.1';

/** The paths that run the maintenance tasks. */
const tasks = TaskName.options.map((task) =>
  task === 'purge-accounts' ? '/v1/auth/purge/expired' : `/v1/internal/maintenance/${task}`,
);
const pauseMs = 100;

interface Scheduler {
  pause(): void;
  resume(): void;
}

/** A vault with a signer, a Redis and a Postgres of its own, which a Prometheus watches. */
export interface ObservedVault {
  readonly dlq: DlqVault;
  readonly signer: OwnSigner;
  readonly redis: OwnRedis;
  /** It has a small disk. */
  readonly postgres: OwnPostgres;
  readonly prometheus: Prometheus;
  readonly receiver: Receiver;
  /** Settings of a signer that has a wrong PIN. */
  readonly wrongPin: Record<string, string>;
  /** Runs every maintenance task again and again, unless it is paused. */
  readonly scheduler: Scheduler;
}

/** Starts everything. What it starts, the teardown stops. */
export async function startObservedVault(resources: AsyncDisposableStack): Promise<ObservedVault> {
  const t = {
    teardown(work: () => unknown): void {
      resources.defer(async () => void (await work()));
    },
  };
  const receiver = await traceThisProcess(t);
  const directory = await mkdtemp(join(tmpdir(), 'probatio-pin-'));
  resources.defer(() => rm(directory, { recursive: true }));
  const pinFile = join(directory, 'pin');
  await writeFile(pinFile, 'wrong-pin\n');
  const signerPort = await freePort();
  const signer = resources.use(
    await startOwnSigner({ ...tracedTo(receiver), SIGNER_METRICS_PORT: String(signerPort) }),
  );
  const redis = await startOwnRedis(t);
  const postgres = resources.use(await startOwnPostgres({ diskSize: '1g' }));
  const templateDatabase = 'template_vault';
  await createTemplateDatabase(postgres.access, templateDatabase);
  const dlq = await startDlqVault(
    t,
    { SIGNER_SOCKET_PATH: signer.socketPath, REDIS_URL: redis.url },
    { ...testStack(), postgres: postgres.access, templateDatabase },
  );
  const { vault } = dlq;
  const { registry, readings } = vault.services.metrics;
  collectDefaultMetrics({ register: registry });
  const listener = await listenForScrapes({ host, port: 0, registry, hasLiveness: false });
  resources.defer(() => listener.close());
  await startReadings(vault.config.database);
  await untilReady(vault.baseUrl);
  const scheduler = startScheduler();
  const prometheus = resources.use(
    await startPrometheus({
      targets: { probatio: listener.port, 'probatio-signer': signerPort },
      namespace,
      rules: fastRules(),
    }),
  );
  return {
    dlq,
    signer,
    redis,
    postgres,
    prometheus,
    receiver,
    wrongPin: { SIGNER_PIN_FILE: pinFile },
    scheduler,
  };

  async function startReadings({ url, serviceUrl }: Config['database']): Promise<void> {
    const db = await openDatabase({ url, serviceUrl, poolSize: 1 });
    resources.defer(() => db.close());
    const { clock } = vault.services;
    const cursor = createQueueCursor();
    const log = createLog('silent');
    const reading = repeat(
      readEveryMs,
      createReading({ metrics: readings, db, cursor, clock, log }),
    );
    resources.defer(() => reading.stop());
  }

  function startScheduler(): Scheduler {
    let isPaused = false;
    let next = 0;
    const headers = { 'X-Internal-Api-Key': dlq.keys.admin };
    const running = repeat(pauseMs, async () => {
      if (isPaused) return;
      await send('POST', vault.baseUrl + (tasks[next++ % tasks.length] ?? ''), { headers });
    });
    resources.defer(() => running.stop());
    return {
      pause: () => void (isPaused = true),
      resume: () => void (isPaused = false),
    };
  }
}
