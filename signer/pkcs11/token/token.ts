import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import {
  closeConnection,
  openConnection,
  renewLogin,
  type Connection,
  type ConnectionOptions,
} from './connection.ts';
import { KeyringError, loadKeyring, type Keyring, type SigningKey } from '../keys/keyring.ts';
import { Library, type Observer, type Session } from '../library/pkcs11.ts';
import { Pkcs11Error, type Remedy } from '../library/pkcs11-error.ts';
import type { TokenState } from '../../protocol/protocol.ts';
import { createPublicKeyParser } from '../keys/public-key.ts';
import { PoolDrained, type Queue } from './session-pool.ts';
import { SignerUnavailable } from '../../protocol/signer-error.ts';
import { tokenAway } from '../../protocol/token-away.ts';

const retryMinMs = 250;
const retryMaxMs = 10_000;

/** An operation that fails again calls for the next stronger remedy, whatever the error says. */
const escalation: readonly Remedy[] = ['replace_session', 'login', 'reinitialize'];

type TokenOptions = Omit<ConnectionOptions, 'parse'> & {
  library: string;
  keepAliveMs: number;
  observe: Observer;
  /** Called whenever the state or the keys may have changed, with no keys but when `ready`. */
  changed: (state: TokenState, keys: readonly SigningKey[]) => void;
  log: Logger;
};

/**
 * The PKCS#11 token: connects, hands out logged-in sessions, and applies the remedy that an error
 * calls for. A refused PIN ends it for good.
 */
export class Token {
  readonly #options: TokenOptions;
  readonly #parse = createPublicKeyParser();
  readonly #stop = new AbortController();
  #library: Library | undefined;
  #connection: Connection | undefined;
  #recovery: Promise<void> | undefined;
  #nextTry: Promise<void> | undefined;
  #state: TokenState = 'connecting';

  constructor(options: TokenOptions) {
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

  /** Connects now, or as soon as the token is there. */
  start(): void {
    this.#connect();
    setInterval(() => void this.#keepAlive(), this.#options.keepAliveMs).unref();
  }

  /**
   * One operation on one session. `work` runs again after a failure that a remedy was found for,
   * so it must be safe to repeat. Throws SignerUnavailable, and what else `work` throws.
   */
  run<T>(work: (session: Session, keyring: Keyring) => Promise<T> | T, queue?: Queue): Promise<T> {
    return this.#attempt(({ pool, keyring }) =>
      pool.use((session) => work(session, keyring), queue),
    );
  }

  /** As `run`, on the one session that may write. */
  use<T>(work: (session: Session) => Promise<T> | T): Promise<T> {
    return this.#attempt(({ writer }) => writer.use(work));
  }

  /** Lets operations in flight end and starts the library anew; those that come now wait. */
  async renew(): Promise<void> {
    await this.#recovery;
    await this.#recover(this.#require(), 'reinitialize');
  }

  /** Looks at the token's keys again: somebody else may have made one. */
  async refresh(): Promise<void> {
    await this.#attempt((connection) =>
      connection.pool.use((session) => {
        // Who is not logged in is shown no private keys, rather than told so.
        session.probe();
        connection.keyring = loadKeyring(session, connection.parse);
      }),
    );
    this.#enter(this.#state);
  }

  async #attempt<T>(operation: (connection: Connection) => Promise<T>): Promise<T> {
    for (let failures = 0; ;) {
      await this.#recovery;
      const connection = this.#require();
      try {
        return await operation(connection);
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
    this.#enter('stopped');
    if (connection) await closeConnection(connection);
  }

  #require(): Connection {
    if (this.#connection) return this.#connection;
    throw tokenAway(this.#state);
  }

  /** Operations that failed on the same connection share one recovery. */
  async #recover(failed: Connection, remedy: Remedy): Promise<void> {
    if (this.#connection !== failed || remedy === 'replace_session') return;
    if (remedy === 'login') {
      try {
        this.#connection = renewLogin(failed, this.#options.pin);
        this.#enter(this.#state);
        return;
      } catch (error) {
        this.#options.log.warn({ err: error }, 'login failed');
        if (isRefusedPin(error)) this.#enter('pin_incorrect');
      }
    }
    this.#recovery = this.#reconnect(failed).finally(() => {
      this.#recovery = undefined;
    });
    await this.#recovery;
  }

  /** Tries twice: SoftHSM cannot read a token in the moment in which another process writes to it. */
  async #reconnect(failed: Connection): Promise<void> {
    this.#connection = undefined;
    if (this.#state !== 'pin_incorrect') this.#enter('connecting');
    await closeConnection(failed);
    if (this.#state === 'pin_incorrect') return;
    this.#connect();
    if (!this.#connection) await this.#nextTry;
  }

  #connect(retryMs = retryMinMs): void {
    if (this.#stop.signal.aborted) return;
    const { log, library, observe } = this.#options;
    try {
      this.#library ??= new Library(library, observe);
      this.#connection = openConnection(this.#library, {
        ...this.#options,
        parse: this.#parse,
      });
      this.#enter('ready');
      const keys = this.#connection.keyring.signingKeys.map((key) => key.keyId);
      log.info({ keys }, 'token ready');
    } catch (error) {
      this.#enter(stateAfter(error));
      log.error({ err: error, token: this.#state }, 'cannot connect to the token');
      if (this.#state !== 'pin_incorrect') this.#nextTry = this.#retry(retryMs);
    }
  }

  async #retry(afterMs: number): Promise<void> {
    const jittered = afterMs * (0.75 + Math.random() / 2);
    await delay(jittered, undefined, { signal: this.#stop.signal }).catch(() => {});
    this.#connect(Math.min(2 * afterMs, retryMaxMs));
  }

  #enter(state: TokenState): void {
    this.#state = state;
    this.#options.changed(state, this.#connection?.keyring.signingKeys ?? []);
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
