import type { Clock } from '../../async/clock.ts';
import { repeat } from '../../async/repeat.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Revocations } from '../revocations.ts';

/** The reasons for which the guard ends a stream: error codes. */
export type AccessEnd = 'token_expired' | 'invalid_token' | 'database_unavailable';

/** An open event stream of a caller. */
export interface GuardedStream {
  readonly sessionId: string | undefined;
  /** The time at which the access token expires. */
  readonly expiresAt: Date;
  /** Ends the stream with an event that states the reason. A second call has no effect. */
  end(reason: AccessEnd): void;
}

interface StreamGuardOptions<Stream extends GuardedStream> {
  readonly streams: () => ReadonlySet<Stream>;
  readonly revocations: Revocations;
  /** Ends those of the streams that lost access for a reason of their kind. */
  readonly endOthers?: (streams: readonly Stream[]) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

const lookEveryMs = 1_000;
/** Milliseconds without a successful check after which all streams are ended. */
const staleAfterMs = 4_000;

/**
 * Starts a background worker that ends event streams whose user has lost access: within 1 s after
 * the access token expires, and within 5 s after any process revokes the session.
 */
export function startStreamGuard<Stream extends GuardedStream>({
  streams,
  revocations,
  endOthers,
  clock,
  log,
}: StreamGuardOptions<Stream>) {
  let knownAt = performance.now();

  async function endRevoked(): Promise<void> {
    const startedAt = performance.now();
    const looked = [...streams()];
    for (const stream of looked) {
      if (await revocations.isRevoked(stream.sessionId)) stream.end('invalid_token');
    }
    if (looked.length > 0) await endOthers?.(looked);
    knownAt = startedAt;
  }

  /**
   * Ends the streams whose access token has expired, and all streams if the last successful check
   * is too old. Runs no query, since Postgres may hang.
   */
  function endExpired(): void {
    const now = clock();
    const isStale = performance.now() - knownAt > staleAfterMs;
    for (const stream of streams()) {
      if (stream.expiresAt <= now) stream.end('token_expired');
      if (isStale) stream.end('database_unavailable');
    }
  }

  const looking = repeat(lookEveryMs, endRevoked, (error) =>
    log.warn({ err: error }, 'the access of open event streams could not be checked'),
  );
  const timer = setInterval(endExpired, lookEveryMs);
  return {
    async stop() {
      clearInterval(timer);
      await looking.stop();
    },
  };
}
