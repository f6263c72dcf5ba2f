import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { z } from 'zod';
import { ConfigError, exitBadConfig } from '../config/config.ts';
import { keepHeartbeat } from './heartbeat.ts';
import { startHsmProcess, type HsmProcess } from './hsm-process.ts';
import {
  Bytes,
  type Activity,
  type HsmRequest,
  type KeyInToken,
  type StateReport,
} from './messages.ts';
import {
  keyCreationTimeoutMs,
  maxBatchEntries,
  type SigningPurpose,
  type TokenState,
} from '../protocol/protocol.ts';
import { tokenAway } from '../protocol/token-away.ts';

const restartMinMs = 250;
const restartMaxMs = 10_000;
/** For Node to start and the first login, on a machine that is busy. */
const startTimeoutMs = 60_000;
/** A process that was connected this long is started again with the shortest pause. */
const steadyMs = 10_000;

type HsmOptions = {
  environment: NodeJS.ProcessEnv;
  /** For one operation; each full batch in hand adds as much again. */
  operationTimeoutMs: number;
  observe: (activity: Activity) => void;
  /** Called when a process has ended that was still needed. */
  ended: () => void;
  log: Logger;
};

/** The HSM as the signer sees it. Every request throws SignerUnavailable. */
export type Hsm = {
  readonly state: TokenState;
  /** What the token held when it was last seen: signatures are verified in its absence too. */
  readonly keys: readonly KeyInToken[];
  /** Resolves once no process runs any more. Throws ConfigError when none can be started. */
  run(): Promise<void>;
  /** Signatures in the order of `inputs`: see `HsmRequest`. */
  sign(keyId: string, inputs: readonly Buffer[]): Promise<Buffer[]>;
  mac(label: string): Promise<Buffer>;
  /** Looks at the keys of the token again. */
  refresh(): Promise<void>;
  /** Resolves with the new key's id. */
  createKey(purpose: SigningPurpose, after: number): Promise<string>;
  /** Lets operations in flight end. */
  close(): Promise<void>;
};

/**
 * Keeps a process that owns the PKCS#11 library running and mirrors what it says of the token. One
 * that died or had to be killed is started again after a pause; one whose PIN was refused is not.
 */
export function createHsm(options: HsmOptions): Hsm {
  const { environment, operationTimeoutMs, observe, ended, log } = options;
  const stopping = new AbortController();
  /** The first process has connected, or has failed to. */
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  let current: HsmProcess | undefined;
  let state: TokenState = 'connecting';
  let keys: readonly KeyInToken[] = [];
  /** Set while the process has a connection, or repairs one. */
  let connectedAt: number | undefined;
  let inputsInHand = 0;

  return {
    get state() {
      return state;
    },
    get keys() {
      return keys;
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

    mac: (label) => ask({ kind: 'mac', label }, Bytes),

    async refresh() {
      await ask({ kind: 'refresh' }, z.null());
    },

    createKey: (purpose, after) =>
      ask({ kind: 'create_key', purpose, after }, z.string(), keyCreationTimeoutMs),

    async close() {
      stopping.abort();
      await current?.stop(operationTimeoutMs);
      state = 'stopped';
    },
  };

  async function ask<Schema extends z.ZodType>(
    request: HsmRequest,
    answer: Schema,
    timeoutMs = operationTimeoutMs,
  ): Promise<z.output<Schema>> {
    await begun;
    if (!current || connectedAt === undefined) throw tokenAway(state);
    return current.ask(request, answer, timeoutMs);
  }

  async function run(): Promise<void> {
    let pauseMs = restartMinMs;
    for (;;) {
      const { steady } = await live();
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

  /** One life of the process; `steady` if it was connected for a while. */
  async function live(): Promise<{ steady: boolean }> {
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
    if (exitCode === exitBadConfig) throw new ConfigError(['the HSM process cannot be started']);
    if (state !== 'pin_incorrect') state = 'unavailable';
    begin();
    if (!isOver()) log.error({ exitCode, overrun }, 'the HSM process ended');
    return { steady };
  }

  function mirror({ state: reported, keys: reportedKeys }: StateReport): void {
    if (reported === 'stopped') return;
    state = reported;
    if (state === 'ready') {
      keys = reportedKeys;
      connectedAt ??= performance.now();
    } else if (state !== 'connecting') connectedAt = undefined;
    if (state === 'pin_incorrect') void current?.stop(operationTimeoutMs);
    begin();
  }
}
