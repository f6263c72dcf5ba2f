import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { closeConnection, openConnection, renewLogin } from './connection.ts';
import type { Connection, ConnectionOptions } from './connection.ts';
import { KeyringError } from './keyring.ts';
import type { Keyring } from './keyring.ts';
import { Library } from './pkcs11.ts';
import type { Observer, Session } from './pkcs11.ts';
import { Pkcs11Error } from './pkcs11-error.ts';
import type { Remedy } from './pkcs11-error.ts';
import type { TokenState } from './protocol.ts';
import { PoolDrained } from './session-pool.ts';
import { SignerUnavailable } from './signer-error.ts';

const RETRY_MIN_MS = 250;
const RETRY_MAX_MS = 10_000;
const KEEP_ALIVE_MS = 30_000;

/** An operation that fails again calls for the next stronger remedy, whatever the error says. */
const escalation: readonly Remedy[] = ['replace_session', 'login', 'reinitialize'];

export type HsmOptions = ConnectionOptions & { library: string; observe: Observer; log: Logger };

/**
 * The PKCS#11 token: connects, hands out logged-in sessions, and applies the remedy that an error
 * calls for. A refused PIN ends it for good.
 */
export class Hsm {
  readonly #options: HsmOptions;
  readonly #stop = new AbortController();
  #library: Library | undefined;
  #connection: Connection | undefined;
  #recovery: Promise<void> | undefined;
  #state: TokenState = 'connecting';

  constructor(options: HsmOptions) {
    this.#options = options;
  }

  get state(): TokenState {
    return this.#state;
  }

  get sessionsInUse(): number {
    return this.#connection?.pool.inUse ?? 0;
  }

  get queueDepth(): number {
    return this.#connection?.pool.waiting ?? 0;
  }

  /** Throws SignerUnavailable. */
  get keyring(): Keyring {
    return this.#require().keyring;
  }

  /** Connects now, or as soon as the token is there. */
  start(): void {
    this.#connect();
    setInterval(() => void this.#keepAlive(), KEEP_ALIVE_MS).unref();
  }

  /**
   * One operation on one session. `work` runs again after a failure that a remedy was found for,
   * so it must be safe to repeat. Throws SignerUnavailable, and what else `work` throws.
   */
  async run<T>(work: (session: Session, keyring: Keyring) => Promise<T> | T): Promise<T> {
    for (let failures = 0; ;) {
      await this.#recovery;
      const connection = this.#require();
      try {
        return await connection.pool.use((session) => work(session, connection.keyring));
      } catch (error) {
        if (error instanceof PoolDrained) continue;
        if (!(error instanceof Pkcs11Error)) throw error;
        this.#options.log.warn({ err: error, remedy: error.remedy }, 'PKCS#11 operation failed');
        const floor = escalation[failures];
        if (error.remedy === 'none' || floor === undefined)
          throw new SignerUnavailable('hsm_unavailable', 'the HSM failed', { cause: error });
        failures += 1;
        await this.#recover(connection, stronger(error.remedy, floor));
      }
    }
  }

  /** Waits for operations in flight, then logs out and lets go of the library. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#recovery;
    const connection = this.#connection;
    this.#connection = undefined;
    this.#state = 'stopped';
    if (connection) await closeConnection(connection);
  }

  #require(): Connection {
    if (this.#connection) return this.#connection;
    throw this.#state === 'pin_incorrect'
      ? new SignerUnavailable('pin_incorrect', 'the token refused the PIN; it is not tried again')
      : new SignerUnavailable('hsm_unavailable', 'the HSM is away');
  }

  /** Operations that failed on the same connection share one recovery. */
  async #recover(failed: Connection, remedy: Remedy): Promise<void> {
    if (this.#connection !== failed || remedy === 'replace_session') return;
    if (remedy === 'login') {
      try {
        this.#connection = renewLogin(failed, this.#options.pin);
        return;
      } catch (error) {
        this.#options.log.warn({ err: error }, 'login failed');
        if (isRefusedPin(error)) this.#state = 'pin_incorrect';
      }
    }
    this.#recovery = this.#reconnect(failed).finally(() => {
      this.#recovery = undefined;
    });
    await this.#recovery;
  }

  async #reconnect(failed: Connection): Promise<void> {
    this.#connection = undefined;
    if (this.#state !== 'pin_incorrect') this.#state = 'connecting';
    await closeConnection(failed);
    if (this.#state !== 'pin_incorrect') this.#connect();
  }

  #connect(retryMs = RETRY_MIN_MS): void {
    if (this.#stop.signal.aborted) return;
    const { log, library, observe } = this.#options;
    try {
      this.#library ??= new Library(library, observe);
      this.#connection = openConnection(this.#library, this.#options);
      this.#state = 'ready';
      log.info({ keys: this.keyring.signingKeys.map((key) => key.keyId) }, 'token ready');
    } catch (error) {
      this.#state = stateAfter(error);
      log.error({ err: error, token: this.#state }, 'cannot connect to the token');
      if (this.#state !== 'pin_incorrect') void this.#retry(retryMs);
    }
  }

  async #retry(afterMs: number): Promise<void> {
    const jittered = afterMs * (0.75 + Math.random() / 2);
    await delay(jittered, undefined, { signal: this.#stop.signal }).catch(() => {});
    this.#connect(Math.min(2 * afterMs, RETRY_MAX_MS));
  }

  /** Idle sessions serve in turn, so each is probed once. */
  async #keepAlive(): Promise<void> {
    try {
      for (let open = this.#connection?.pool.open ?? 0; open > 0; open -= 1)
        await this.run((session) => session.probe());
    } catch (error) {
      this.#options.log.warn({ err: error }, 'keep-alive failed');
    }
  }
}

function stronger(a: Remedy, b: Remedy): Remedy {
  return escalation.indexOf(a) > escalation.indexOf(b) ? a : b;
}

function isRefusedPin(error: unknown): boolean {
  return error instanceof Pkcs11Error && error.remedy === 'stop';
}

function stateAfter(error: unknown): TokenState {
  if (isRefusedPin(error)) return 'pin_incorrect';
  return error instanceof KeyringError ? 'keys_missing' : 'unavailable';
}
