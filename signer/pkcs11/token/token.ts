import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import {
  closeConnection,
  openConnection,
  renewLogin,
  type Connection,
  type ConnectionOptions,
} from './connection.ts';
import { KeyringError, loadKeyring, type Keyring, type SigningKeys } from '../keys/keyring.ts';
import type { Observer } from '../library/measured-api.ts';
import { Library, type Session } from '../library/pkcs11.ts';
import { Pkcs11Error, type Remedy } from '../library/pkcs11-error.ts';
import type { TokenState } from '../../protocol/protocol.ts';
import { createPublicKeyParser } from '../keys/public-key.ts';
import { PoolDrained, type Queue } from './session-pool.ts';
import { SignerUnavailable } from '../../protocol/signer-error.ts';
import { tokenAway } from '../../protocol/token-unavailable.ts';

const retryMinMs = 250;
const retryMaxMs = 10_000;

/**
 * The minimum remedy after the first, second and third failure of an operation, even if its error
 * needs a weaker one.
 */
const escalation: readonly Remedy[] = ['replace_session', 'login', 'reinitialize'];

interface TokenOptions extends Omit<ConnectionOptions, 'parse'> {
  readonly library: string;
  readonly keepAliveMs: number;
  readonly observe: Observer;
  /** Called whenever the state or the keys may have changed; without a connection, with no keys. */
  readonly changed: (state: TokenState, keys: SigningKeys) => void;
  readonly log: Logger;
}

/**
 * Connects to the PKCS#11 token, lends logged-in sessions, and applies the remedy that an error
 * needs. Never connects again after the token has refused the PIN.
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
  /** The reason that was logged last for which there is no connection. */
  #toldReason: string | undefined;

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

  /** Connects now, or retries until the token is available. */
  start(): void {
    this.#connect();
    setInterval(() => void this.#keepAlive(), this.#options.keepAliveMs).unref();
  }

  /**
   * Runs one operation on a session of the pool. `work` runs again after a failure that has a
   * remedy, so it MUST be safe to repeat. Throws SignerUnavailable if no remedy helps, and every
   * error of `work` other than Pkcs11Error.
   */
  run<T>(work: (session: Session, keyring: Keyring) => Promise<T> | T, queue?: Queue): Promise<T> {
    return this.#attempt(({ pool, keyring }) =>
      pool.use((session) => work(session, keyring), queue),
    );
  }

  /** Runs one operation like `run`, on the single read-write session. */
  use<T>(work: (session: Session) => Promise<T> | T): Promise<T> {
    return this.#attempt(({ writer }) => writer.use(work));
  }

  /**
   * Reinitialises the library once the operations in progress have finished; new operations wait
   * until then.
   */
  async renew(): Promise<void> {
    await this.#recovery;
    await this.#recover(this.#require(), 'reinitialize');
  }

  /** Reads the keys of the token again, since another process may have created keys. */
  async refresh(): Promise<void> {
    await this.#attempt((connection) =>
      connection.pool.use((session) => {
        // Without a login, a token hides its private keys instead of reporting an error, so the
        // login is checked first.
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
        this.#options.log.warn({ err: error, remedy: error.remedy }, 'a PKCS#11 operation failed');
        const floor = escalation[failures];
        if (error.remedy === 'none' || floor === undefined)
          throw new SignerUnavailable('hsm_unavailable', 'the HSM failed', { cause: error });
        failures += 1;
        await this.#recover(connection, stronger(error.remedy, floor));
      }
    }
  }

  /** Waits for operations in progress, then logs out and finalises the library. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#recovery;
    const connection = this.#connection;
    this.#connection = undefined;
    this.#enter('stopped');
    if (connection !== undefined) await closeConnection(connection);
  }

  #require(): Connection {
    if (this.#connection !== undefined) return this.#connection;
    throw tokenAway(this.#state);
  }

  /** Applies a remedy, once for all operations that failed on the same connection. */
  async #recover(failed: Connection, remedy: Remedy): Promise<void> {
    if (this.#connection !== failed || remedy === 'replace_session') return;
    if (remedy === 'login') {
      try {
        this.#connection = renewLogin(failed, this.#options.pin);
        this.#enter(this.#state);
        return;
      } catch (error) {
        this.#options.log.warn({ err: error }, 'the login to the token failed');
        if (isRefusedPin(error)) this.#enter('pin_incorrect');
      }
    }
    this.#recovery = this.#reconnect(failed).finally(() => {
      this.#recovery = undefined;
    });
    await this.#recovery;
  }

  /**
   * Closes the failed connection and connects again, with one retry, because SoftHSM cannot read a
   * token while another process writes it.
   */
  async #reconnect(failed: Connection): Promise<void> {
    this.#connection = undefined;
    if (this.#state !== 'pin_incorrect') this.#enter('connecting');
    await closeConnection(failed);
    if (this.#state === 'pin_incorrect') return;
    this.#connect();
    if (!this.#isConnected()) await this.#nextTry;
  }

  #isConnected(): boolean {
    return this.#connection !== undefined;
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
      this.#toldReason = undefined;
      const keys = this.#connection.keyring.signingKeys.map((key) => key.keyId);
      log.info({ keys }, 'connected to the token');
    } catch (error) {
      this.#enter(stateAfter(error));
      this.#tellFailure(error);
      if (this.#state !== 'pin_incorrect') this.#nextTry = this.#retry(retryMs);
    }
  }

  /** Logs why there is no connection, once for each reason: the attempts after it repeat it. */
  #tellFailure(error: unknown): void {
    const { log } = this.#options;
    const reason = String(error);
    const isKnown = error instanceof Pkcs11Error || error instanceof KeyringError;
    const details = { ...(isKnown ? { reason } : { err: error }), token: this.#state };
    const level = this.#toldReason === reason ? 'debug' : 'error';
    log[level](details, explain(error));
    this.#toldReason = reason;
  }

  async #retry(afterMs: number): Promise<void> {
    const jittered = afterMs * (0.75 + Math.random() / 2);
    await delay(jittered, undefined, { signal: this.#stop.signal }).catch(() => {});
    this.#connect(Math.min(2 * afterMs, retryMaxMs));
  }

  #enter(state: TokenState): void {
    this.#state = state;
    const { signingKeys = [], unadopted = [] } = this.#connection?.keyring ?? {};
    this.#options.changed(state, { used: signingKeys, unadopted });
  }

  /** Probes every idle session once, as the pool lends them in turn. */
  async #keepAlive(): Promise<void> {
    try {
      for (let open = this.#connection?.pool.open ?? 0; open > 0; open -= 1)
        await this.run((session) => session.probe());
    } catch (error) {
      this.#options.log.warn({ err: error }, 'the keep-alive of the sessions failed');
    }
  }
}

/** Says what an operator has to do about a failed connection. */
function explain(error: unknown): string {
  if (!(error instanceof Pkcs11Error)) return 'the connection to the token failed';
  if (error.remedy === 'stop') {
    return 'the token refused the PIN, which is not tried again: correct it, restart the signer';
  }
  return error.returnValue === 'CKR_TOKEN_NOT_PRESENT'
    ? 'no token has the label of SIGNER_TOKEN_LABEL: connect it, or create it with `init`; retrying'
    : 'the connection to the token failed; retrying';
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
