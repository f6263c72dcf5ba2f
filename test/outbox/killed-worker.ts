/**
 * Runs for the crash test: handles one message by writing its id to the file named first, and kills
 * itself by SIGKILL before the message is erased.
 */
import { writeFileSync } from 'node:fs';
import { openDatabase } from '../../app/db/database.ts';
import { startOutboxWorker } from '../../app/outbox/worker.ts';
import { createWakeSignal } from '../../app/async/wake-signal.ts';
import { createLog } from '../../app/telemetry/log.ts';
import { emailHandlers } from './email-handlers.ts';

const [file = '', url = '', serviceUrl = ''] = process.argv.slice(2);
const die = async (_payload: unknown, messageId: string) => {
  writeFileSync(file, messageId);
  process.kill(process.pid, 'SIGKILL');
};
startOutboxWorker({
  db: await openDatabase({ url, serviceUrl, poolSize: 2 }),
  log: createLog('silent'),
  signal: createWakeSignal(),
  handlers: emailHandlers(die),
});
