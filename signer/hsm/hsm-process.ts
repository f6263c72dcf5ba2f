import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { context } from '@opentelemetry/api';
import type { z } from 'zod';
import { FromHsm, type HsmRequest, type ToHsm, type TracedCall } from '../ipc/messages.ts';
import { SignerUnavailable } from '../protocol/signer-error.ts';
import { tokenAway } from '../protocol/token-unavailable.ts';
import { inChildSpan } from '../protocol/tracing/spans.ts';
import { recordCalls } from './call-spans.ts';

const entry = fileURLToPath(new URL('../pkcs11/process/main.ts', import.meta.url));

interface HsmProcessOptions {
  readonly environment: NodeJS.ProcessEnv;
  /** Called with every message of the process that is not a response to a request. */
  readonly report: (report: Exclude<FromHsm, { kind: 'answer' | 'failure' }>) => void;
}

export type HsmProcess = ReturnType<typeof startHsmProcess>;

interface HsmEnd {
  /** Null when a signal ended the process. */
  readonly exitCode: number | null;
  /** Whether the signer killed the process because a request timed out. */
  readonly overrun: boolean;
}

interface Pending {
  /** Records the calls of the request as spans; does nothing if the request is not traced. */
  readonly record: (calls: readonly TracedCall[]) => void;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: SignerUnavailable) => void;
}

/**
 * Starts the process that owns the PKCS#11 library. A call into a hanging HSM cannot be cancelled,
 * so a process that does not respond in time is killed, and all its pending requests fail.
 */
export function startHsmProcess({ environment, report }: HsmProcessOptions) {
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
    /** Resolves once the HSM process has ended. */
    ended,

    /**
     * Sends a request and resolves with the response. If the request times out, kills the process.
     * Throws SignerUnavailable.
     */
    async ask<Schema extends z.ZodType>(
      request: HsmRequest,
      answer: Schema,
      timeoutMs: number,
    ): Promise<z.output<Schema>> {
      return inChildSpan(`hsm ${request.kind}`, {}, async (span) => {
        if (gone) throw tokenAway('unavailable');
        const id = (lastId += 1);
        const { promise, resolve, reject } = Promise.withResolvers<unknown>();
        const isTraced = span !== undefined;
        const record = isTraced ? context.bind(context.active(), recordCalls) : () => undefined;
        pending.set(id, { record, resolve, reject });
        // `setImmediate` lets this process first read responses that arrived while it was not
        // scheduled.
        const timer = setTimeout(() => setImmediate(() => pending.has(id) && kill()), timeoutMs);
        send({ kind: 'request', id, request, isTraced });
        try {
          return answer.parse(await promise);
        } finally {
          clearTimeout(timer);
        }
      });
    },

    /**
     * Lets the process finish its pending requests, and kills the process if it still runs after
     * `timeoutMs`.
     */
    async stop(timeoutMs: number): Promise<void> {
      const timer = setTimeout(kill, timeoutMs);
      send({ kind: 'stop' });
      await ended;
      clearTimeout(timer);
    },
  };

  /** Sends a message and ignores errors: only a response shows that the process is alive. */
  function send(message: ToHsm): void {
    child.send(message, () => {});
  }

  function receive(message: FromHsm): void {
    if (message.kind !== 'answer' && message.kind !== 'failure') return report(message);
    const asked = pending.get(message.id);
    pending.delete(message.id);
    asked?.record(message.calls);
    if (message.kind === 'answer') asked?.resolve(message.value);
    else asked?.reject(new SignerUnavailable(message.code, message.message));
  }

  function kill(): void {
    gone = true;
    overrun = true;
    child.kill('SIGKILL');
    rejectAll('the HSM did not respond in time');
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
