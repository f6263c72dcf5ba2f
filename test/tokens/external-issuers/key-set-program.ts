/**
 * Starts a key set, waits until it is fetched, and then has nothing to do. Usage:
 * `key-set-program.ts <config>`.
 */
import { startKeySet } from '../../../app/tokens/external-issuers/key-set.ts';
import { systemClock } from '../../../app/async/clock.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { createLog } from '../../../app/telemetry/log.ts';

const config = JSON.parse(process.argv[2] ?? '') as Parameters<typeof startKeySet>[0]['config'];
const stop = new AbortController().signal;
const keys = startKeySet({ config, log: createLog('info'), clock: systemClock, stop });
await until(() => keys.state().isUsable, { what: 'the keys', timeoutMs: 60_000 });
