// The HSM process is a child of the signer and owns the PKCS#11 library, so that a call that never
// returns can be ended by killing the process.
import { Worker } from 'node:worker_threads';
import { loadHsmConfig } from '../../config/config.ts';
import { refuseStart } from '../../config/refused-start.ts';
import { createActivity } from './activity.ts';
import { createSignerLog } from '../../log/signer-log.ts';
import { createAnswers } from './requests.ts';
import { createTracedCalls } from './traced-calls.ts';
import { createUnusedKeysLog } from './unused-keys.ts';
import { describeKeys } from '../keys/key-description.ts';
import { ToHsm, type FromHsm } from '../../ipc/messages.ts';
import { Token } from '../token/token.ts';

const config = readConfig();
const log = createSignerLog('signer-hsm', config.logLevel);

// A terminal sends signals to the whole process group. This process ignores them and stops when the
// signer sends `stop`.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});
new Worker(new URL('./lifeline.ts', import.meta.url)).unref();

const tellUnused = createUnusedKeysLog({ log, refresh: () => token.refresh() });
const activity = createActivity((calls) => {
  const { sessionsInUse, queueDepth } = token;
  send({ kind: 'activity', calls, sessionsInUse, queueDepth });
});
const traced = createTracedCalls();
const token = new Token({
  ...config,
  log,
  observe(...call) {
    activity.observe(...call);
    traced.observe(...call);
  },
  changed: (state, keys) => {
    tellUnused(keys.unadopted);
    send({ kind: 'state', state, ...describeKeys(keys) });
  },
});
const answers = createAnswers({ token, lanes: config.sessions, rsaBits: config.rsaBits });

process.on('message', (message) => void receive(ToHsm.parse(message)));
send({ kind: 'started' });
token.start();

async function receive(message: ToHsm): Promise<void> {
  if (message.kind === 'stop') await stop();
  else send({ ...(await answer(message)), id: message.id });
}

async function answer({ request, isTraced }: Extract<ToHsm, { kind: 'request' }>) {
  if (!isTraced) return { ...(await answers(request)), calls: [] };
  const { value, calls } = await traced.during(() => answers(request));
  return { ...value, calls };
}

async function stop(): Promise<void> {
  await token.close();
  activity.flush();
  // Log lines that nobody reads would keep the process alive.
  process.once('disconnect', () => process.exit());
  process.disconnect();
}

/** Sends a message to the signer. Errors are ignored, since they mean that the signer has ended. */
function send(message: FromHsm): void {
  process.send?.(message, undefined, {}, () => {});
}

function readConfig() {
  try {
    return loadHsmConfig(process.env);
  } catch (error) {
    return refuseStart(error);
  }
}
