import { leaseSeconds, renewSeconds } from './lease.ts';

interface Holding {
  /** Renews the lease. Resolves with whether this process still held it. */
  readonly renew: () => Promise<boolean>;
  /** Ends the lease if this process still holds it. */
  readonly release: () => Promise<unknown>;
  /** Called once after another process has taken over the lease; does nothing by default. */
  readonly onLost?: () => void;
}

export interface KeptLease {
  /** Renews the lease no more. */
  stop(): void;
  /**
   * Ends the lease, so that nobody has to wait until it expires. Never rejects: a release that
   * fails, such as while Postgres is away, is repeated in the background until the lease expires.
   */
  release(): Promise<void>;
}

const releasePauseMs = 1_000;

/** Keeps a lease that was just taken, by renewing it until `stop` or `release` is called. */
export function keepLease({ renew, release, onLost }: Holding): KeptLease {
  let endsAt = nextEnd();
  /** The renewal that is under way. */
  let renewal: Promise<void> | undefined;

  async function extend(): Promise<void> {
    const end = nextEnd();
    const isHeld = await renew().catch(() => undefined);
    renewal = undefined;
    if (isHeld === true) endsAt = end;
    if (isHeld !== false) return;
    stop();
    onLost?.();
  }

  function releaseLater(): void {
    if (performance.now() >= endsAt) return;
    setTimeout(() => void release().catch(releaseLater), releasePauseMs).unref();
  }

  const timer = setInterval(() => void (renewal ??= extend()), renewSeconds * 1_000);
  const stop = () => clearInterval(timer);
  return {
    stop,
    async release() {
      stop();
      // A renewal that reached Postgres later would hold the lease again.
      await renewal;
      await release().catch(releaseLater);
    },
  };
}

/** Returns when a lease that is taken or renewed now expires, by the clock of this process. */
function nextEnd(): number {
  return performance.now() + leaseSeconds * 1_000;
}
