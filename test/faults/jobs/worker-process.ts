/** Runs the jobs of the soak until it is killed; arguments: the URLs and the name of the vault. */
import { startJobSystem } from '../../support/jobs/job-system.ts';
import { trialWork } from './trial-work.ts';

const [url = '', serviceUrl = '', redisUrl = '', vault = ''] = process.argv.slice(2);
process.on('disconnect', () => process.exit());
const system = await startJobSystem({ url, serviceUrl, redisUrl, vault, types: [trialWork] });
system.startWorker();
process.on('SIGTERM', () => void system.stop().then(() => process.exit()));
process.send?.('ready');
