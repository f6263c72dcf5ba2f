/** Prints its process id, and `stopped` when it is to stop. */
import { once } from 'node:events';
import { stopSignals } from '../../app/dev/processes/stop-signals.ts';

const signal = stopSignals();
const alive = setInterval(() => undefined, 1_000);
console.log(process.pid);
await once(signal, 'abort');
console.log('stopped');
clearInterval(alive);
