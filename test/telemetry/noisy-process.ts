/** A process that logs 20,000 lines at once, says so on its IPC channel, and ends on SIGTERM. */
import { createSignerLog } from '../../signer/log/signer-log.ts';

const log = createSignerLog('signer', 'info');
for (let line = 0; line < 20_000; line += 1) log.info({ line }, 'x'.repeat(100));
process.once('SIGTERM', () => {
  log.info('stopping');
  process.exit();
});
process.send?.('logged');
// Logs on, so that a test can see when lines are taken again.
setInterval(() => log.info('still there'), 50);
