import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { z } from 'zod';
import { FromHsm, type HsmRequest, type ToHsm } from './messages.ts';
import { SignerUnavailable } from '../protocol/signer-error.ts';
import { tokenAway } from '../protocol/token-away.ts';

const entry = fileURLToPath(new URL('../pkcs11/process/main.ts', import.meta.url));

type HsmProcessOptions = {
  environment: NodeJS.ProcessEnv;
  /** Gets what the process says without having been asked. */
  report: (report: Exclude<FromHsm, { kind: 'answer' | 'failure' }>) => void;
};

export type HsmProcess = {
  /** Throws SignerUnavailable. A request that overruns its time ends the process. */
  ask<Schema extends z.ZodType>(
    request: HsmRequest,
    answer: Schema,
    timeoutMs: number,
  ): Promise<z.output<Schema>>;
  /** Lets it finish what it has in hand, and ends it if that takes longer. */
  stop(timeoutMs: number): Promise<void>;
  /** Resolves once the process has gone. */
  ended: Promise<HsmEnd>;
};

/** `exitCode` is null when a signal ended it; `overrun`: the signer's, since it did not answer. */
type HsmEnd = { exitCode: number | null; overrun: boolean };

type Pending = { resolve: (value: unknown) => void; reject: (error: SignerUnavailable) => void };

/**
 * One life of the process that owns the PKCS#11 library. A call into an HSM that hangs cannot be
 * cancelled, so a process that does not answer in time is killed, and every request with it.
 */
export function startHsmProcess({ environment, report }: HsmProcessOptions): HsmProcess {
  const child = fork(entry, {
    env: environment,
    serialization: 'advanced',
    stdio: ['pipe', 'inherit', 'inherit', 'ipc'],
  });
  const pending = new Map<number, Pending>();
  const { promise: ended, resolve: resolveEnded } = Promise.withResolvers<HsmEnd>();
  let lastId = 0;
  let gone = false;
  let overrun = false;

  child.on('message', (message) => receive(FromHsm.parse(message)));
  child.once('error', () => end(null));
  child.once('exit', end);

  return {
    ended,

    async ask(request, answer, timeoutMs) {
      if (gone) throw tokenAway('unavailable');
      const id = (lastId += 1);
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      pending.set(id, { resolve, reject });
      // Answers that arrived while this process was itself kept from running are read first.
      const timer = setTimeout(() => setImmediate(() => pending.has(id) && kill()), timeoutMs);
      send({ kind: 'request', id, request });
      try {
        return answer.parse(await promise);
      } finally {
        clearTimeout(timer);
      }
    },

    async stop(timeoutMs) {
      const timer = setTimeout(kill, timeoutMs);
      send({ kind: 'stop' });
      await ended;
      clearTimeout(timer);
    },
  };

  /** Whether it still listens shows by its answers alone. */
  function send(message: ToHsm): void {
    child.send(message, () => {});
  }

  function receive(message: FromHsm): void {
    if (message.kind !== 'answer' && message.kind !== 'failure') return report(message);
    const asked = pending.get(message.id);
    pending.delete(message.id);
    if (message.kind === 'answer') asked?.resolve(message.value);
    else asked?.reject(new SignerUnavailable(message.code, message.message));
  }

  function kill(): void {
    gone = true;
    overrun = true;
    child.kill('SIGKILL');
    rejectAll('the HSM did not answer in time');
  }

  function end(exitCode: number | null): void {
    gone = true;
    rejectAll('the HSM process ended');
    resolveEnded({ exitCode, overrun });
  }

  function rejectAll(message: string): void {
    for (const { reject } of pending.values())
      reject(new SignerUnavailable('hsm_unavailable', message));
    pending.clear();
  }
}
