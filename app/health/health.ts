import type { Redis } from 'ioredis';
import type { SignerClient } from '../../signer/protocol/client.ts';
import type { TokenState } from '../../signer/protocol/protocol.ts';
import type { ClockWatch } from '../clocks/clock-watch.ts';
import type { LabelledKeys } from '../signing-keys/labelled-keys.ts';
import type { KeyRegistry } from '../signing-keys/registry.ts';
import type { EncryptionKeys } from '../encryption-keys/encryption-keys.ts';
import { assertWritable, readInfo } from '../redis/redis.ts';
import type { StoreWatch } from '../storage/store-watch.ts';
import type { Issuers } from '../tokens/external-issuers/issuers.ts';
import { infoField } from './cache.ts';
import { check, CheckError, sharedFor, type CheckResult } from './check.ts';
import { assertDatabaseServes, type DatabaseFacts } from './database-check.ts';
import { createReadiness } from './readiness.ts';

const checkNames = ['database', 'cache', 'storage', 'queue', 'signer', 'jwks'] as const;
type CheckName = (typeof checkNames)[number];

interface HealthReport {
  /**
   * `error` if the database or the signer is unavailable, or the database does not isolate users;
   * `degraded` if any other check failed.
   */
  readonly status: 'ok' | 'degraded' | 'error';
  readonly checks: Readonly<Record<CheckName, CheckResult>>;
}

interface HealthOptions extends DatabaseFacts {
  readonly clocks: Pick<ClockWatch, 'skewTo'>;
  readonly redis: Redis;
  readonly storeWatch: StoreWatch;
  readonly signer: SignerClient;
  readonly registry: KeyRegistry;
  readonly issuers: Issuers;
  readonly keys: LabelledKeys;
  readonly encryptionKeys: Pick<EncryptionKeys, 'isReady'>;
  readonly isDraining: () => boolean;
}

export type Health = ReturnType<typeof createHealth>;

/** Creates the service that checks what this process depends on. */
export function createHealth(options: HealthOptions) {
  const { redis, storeWatch, registry, issuers } = options;

  const probes: Readonly<Record<CheckName, () => Promise<unknown>>> = {
    database: () => assertDatabase(options),
    cache: () => assertWritable(redis),
    storage: () => storeWatch.check(),
    queue: () => assertKeepsEverything(redis),
    signer: () => assertSigner(options),
    jwks: () => assertTokenKeys(registry, issuers),
  };

  const report = sharedFor(1_000, async (): Promise<HealthReport> => {
    const results = await Promise.all(
      checkNames.map(async (name) => [name, await check(probes[name])] as const),
    );
    const checks = Object.fromEntries(results) as Record<CheckName, CheckResult>;
    return { status: overall(checks), checks };
  });

  return {
    /** Checks every dependency, at most once a second. */
    report,

    /** Resolves, within half a second, with whether this process can take traffic. */
    isReady: createReadiness(options),
  };
}

function overall(checks: HealthReport['checks']): HealthReport['status'] {
  if (isAway(checks.database) || isAway(checks.signer)) return 'error';
  return Object.values(checks).every(({ status }) => status === 'ok') ? 'ok' : 'degraded';
}

/** The codes of the check of a signer that responds, by the states of its token. */
const tokenCodes: Readonly<Partial<Record<TokenState, string>>> = {
  pin_incorrect: 'pin_incorrect',
  keys_missing: 'keys_missing',
};
const hsmAway = 'hsm_unavailable';
const clockSkew = 'clock_skew';
/** Faults of the database and the signer with which most requests are served nevertheless. */
const tolerated: ReadonlySet<string | undefined> = new Set([
  hsmAway,
  clockSkew,
  ...Object.values(tokenCodes),
]);

function isAway({ status, error }: CheckResult): boolean {
  return status === 'error' && !tolerated.has(error);
}

/** Throws unless the database serves, and has the time of this process. */
async function assertDatabase(options: HealthOptions): Promise<void> {
  await assertDatabaseServes(options);
  if (options.clocks.skewTo('database') !== undefined) throw new CheckError(clockSkew);
}

/**
 * Throws unless the signer responds on its socket, is logged in to the HSM's token, and has the
 * time of this process.
 */
async function assertSigner({ signer, clocks }: HealthOptions): Promise<void> {
  const { status, token } = await signer.health();
  if (status !== 'ok') throw new CheckError(tokenCodes[token] ?? hsmAway);
  if (clocks.skewTo('signer') !== undefined) throw new CheckError(clockSkew);
}

/** Throws if Redis may evict keys, since a queue in Redis must not lose any entries. */
async function assertKeepsEverything(redis: Redis): Promise<void> {
  const info = await readInfo(redis, 'memory');
  const evicts = infoField(info, 'maxmemory_policy') !== 'noeviction';
  if (evicts && infoField(info, 'maxmemory') !== '0') throw new CheckError('evicts_keys');
}

/** Throws unless the vault has a token key, and the key sets of all other issuers are usable. */
async function assertTokenKeys(registry: KeyRegistry, issuers: Issuers): Promise<void> {
  const keys = await registry.list();
  if (!keys.some(({ purpose }) => purpose === 'token')) throw new CheckError('no_token_key');
  const states = issuers.states();
  if (states.some(({ isUsable }) => !isUsable)) throw new CheckError('issuer_keys_unavailable');
  if (states.some(({ isReachable }) => !isReachable)) throw new CheckError('issuer_away');
}
