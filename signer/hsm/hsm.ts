import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { z } from 'zod';
import { ConfigError } from '../protocol/process/config-error.ts';
import { exitCodes } from '../protocol/process/exit-codes.ts';
import { keepHeartbeat } from './heartbeat.ts';
import { startHsmProcess, type HsmProcess } from './hsm-process.ts';
import {
  Bytes,
  type Activity,
  Mac,
  type HsmRequest,
  type KeyInToken,
  type MacPurpose,
  type StateReport,
} from '../ipc/messages.ts';
import {
  keyCreationTimeoutMs,
  maxBatchEntries,
  type KeyRequest,
  type TokenState,
} from '../protocol/protocol.ts';
import { tokenAway } from '../protocol/token-unavailable.ts';

const restartMinMs = 250;
const restartMaxMs = 10_000;
/**
 * Milliseconds within which a new process must respond: covers the start of Node and the first
 * login, on a busy machine.
 */
const startTimeoutMs = 60_000;
/**
 * Milliseconds that the HSM process must stay connected to the token before the delay of its next
 * restart returns to the minimum.
 */
const steadyMs = 10_000;
/**
 * Milliseconds that a stop waits for a process that is not connected to the token: nobody waits for
 * an operation of it, and an HSM that hangs would not let it end.
 */
const connectingStopMs = 2_000;

interface HsmOptions {
  readonly environment: NodeJS.ProcessEnv;
  /** Timeout of one operation; each full batch in progress adds the same time. */
  readonly operationTimeoutMs: number;
  readonly observe: (activity: Activity) => void;
  /** Called when a process ended unexpectedly. */
  readonly ended: () => void;
  readonly log: Logger;
}

/**
 * The HSM as the signer uses it, through the HSM process. Every request throws SignerUnavailable if
 * the HSM process or the token is unavailable.
 */
export interface Hsm {
  readonly state: TokenState;
  /**
   * The keys that the token last reported. They are kept while the token is unavailable, so that
   * signatures can still be verified.
   */
  readonly keys: readonly KeyInToken[];
  /** Imported keys of the token that nobody has adopted, which sign nothing. */
  readonly unadopted: readonly KeyInToken[];
  /**
   * Runs the HSM process and restarts it whenever it ends. Resolves when no process will be started
   * again: after `close`, or after the token has refused the PIN. Throws ConfigError when the
   * process reports an invalid configuration.
   */
  run(): Promise<void>;
  /** Resolves with the signatures in the order of `inputs`; see `HsmRequest`. */
  sign(keyId: string, inputs: readonly Buffer[]): Promise<Buffer[]>;
  /**
   * Resolves with the HMAC-SHA-256 of a label. The key `mac` has one generation; without a
   * generation, the newest key `encryption` is used.
   */
  mac(request: {
    readonly purpose: MacPurpose;
    readonly label: string;
    readonly generation?: number | undefined;
  }): Promise<Mac>;
  /** Reads the keys of the token again. */
  refresh(): Promise<void>;
  /**
   * Creates the next generation of a signing key, with a number above `after`. Resolves with the id
   * of the new key. With `generation`, resolves with the id of that key, which is created if it is
   * the next one, and with null if it is neither there nor the next one.
   */
  createKey(request: KeyRequest): Promise<string | null>;
  /** Records in the token that an imported key may be used, and reads the keys again. */
  adoptKey(keyId: string): Promise<void>;
  /** Creates the next key `encryption`, and resolves with its generation. */
  createEncryptionKey(after: number): Promise<number>;
  /** Lets operations in progress finish, then stops the process, and kills one that hangs. */
  close(): Promise<void>;
}

/**
 * Creates an `Hsm`, which keeps the HSM process running and mirrors the token state that the
 * process reports. A process that died or was killed is restarted after a pause, but never after
 * the token has refused the PIN.
 */
export function createHsm(options: HsmOptions): Hsm {
  const { environment, operationTimeoutMs, observe, ended, log } = options;
  const stopping = new AbortController();
  /** Resolves once the first process has connected to the token or has failed to connect. */
  const { promise: firstAttempt, resolve: endFirstAttempt } = Promise.withResolvers<void>();
  let current: HsmProcess | undefined;
  let state: TokenState = 'connecting';
  let keys: readonly KeyInToken[] = [];
  let unadopted: readonly KeyInToken[] = [];
  /** Time at which the process connected; it is kept while the process repairs the connection. */
  let connectedAt: number | undefined;
  let inputsInHand = 0;

  return {
    get state() {
      return state;
    },
    get keys() {
      return keys;
    },
    get unadopted() {
      return unadopted;
    },
    run,

    async sign(keyId, inputs) {
      inputsInHand += inputs.length;
      const timeoutMs = operationTimeoutMs * (1 + inputsInHand / maxBatchEntries);
      try {
        return await ask({ kind: 'sign', keyId, inputs: [...inputs] }, z.array(Bytes), timeoutMs);
      } finally {
        inputsInHand -= inputs.length;
      }
    },

    mac: (request) => ask({ kind: 'mac', ...request }, Mac),

    async refresh() {
      await ask({ kind: 'refresh' }, z.null());
    },

    createKey: (request) =>
      ask({ kind: 'create_key', ...request }, z.string().nullable(), keyCreationTimeoutMs),

    async adoptKey(keyId) {
      await ask({ kind: 'adopt_key', keyId }, z.null());
    },
    createEncryptionKey: (after) =>
      ask({ kind: 'create_encryption_key', after }, z.int(), keyCreationTimeoutMs),

    async close() {
      stopping.abort();
      await current?.stop(connectedAt === undefined ? connectingStopMs : operationTimeoutMs);
      state = 'stopped';
    },
  };

  async function ask<Schema extends z.ZodType>(
    request: HsmRequest,
    answer: Schema,
    timeoutMs = operationTimeoutMs,
  ): Promise<z.output<Schema>> {
    await firstAttempt;
    if (current === undefined || connectedAt === undefined) throw tokenAway(state);
    return current.ask(request, answer, timeoutMs);
  }

  async function run(): Promise<void> {
    let pauseMs = restartMinMs;
    for (;;) {
      const { steady } = await runOnce();
      if (isOver()) return;
      ended();
      if (steady) pauseMs = restartMinMs;
      await delay(pauseMs, undefined, { signal: stopping.signal }).catch(() => {});
      if (isOver()) return;
      pauseMs = Math.min(2 * pauseMs, restartMaxMs);
    }
  }

  function isOver(): boolean {
    return stopping.signal.aborted || state === 'pin_incorrect';
  }

  /**
   * Starts one HSM process and resolves when it has ended. `steady` is true if the process was
   * connected to the token for longer than `steadyMs`.
   */
  async function runOnce(): Promise<{ readonly steady: boolean }> {
    const hsm = startHsmProcess({
      environment,
      report(report) {
        if (report.kind === 'started') void keepHeartbeat(hsm, operationTimeoutMs);
        else if (report.kind === 'activity') observe(report);
        else if (current === hsm && state !== 'pin_incorrect') mirror(report);
      },
    });
    current = hsm;
    hsm.ask({ kind: 'ping' }, z.null(), startTimeoutMs).catch(() => {});
    const { exitCode, overrun } = await hsm.ended;
    const steady = connectedAt !== undefined && performance.now() - connectedAt > steadyMs;
    current = undefined;
    connectedAt = undefined;
    observe({ kind: 'activity', calls: [], sessionsInUse: 0, queueDepth: 0 });
    if (exitCode === exitCodes.refused)
      throw new ConfigError(['the HSM process cannot start; see its error above']);
    if (state !== 'pin_incorrect') state = 'unavailable';
    endFirstAttempt();
    if (!isOver()) log.error({ exitCode, overrun }, 'the HSM process ended unexpectedly');
    return { steady };
  }

  function mirror({ state: reported, ...report }: StateReport): void {
    if (reported === 'stopped') return;
    state = reported;
    if (state === 'ready') {
      ({ keys, unadopted } = report);
      connectedAt ??= performance.now();
    } else if (state !== 'connecting') connectedAt = undefined;
    if (state === 'pin_incorrect') void current?.stop(operationTimeoutMs);
    endFirstAttempt();
  }
}
