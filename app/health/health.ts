import type { Redis } from 'ioredis';
import type { SignerClient } from '../../signer/protocol/client.ts';
import type { ClockWatch } from '../clocks/clock-watch.ts';
import type { Database } from '../db/database.ts';
import type { Isolation } from '../db/isolation/isolation.ts';
import type { LabelledKeys } from '../signing-keys/labelled-keys.ts';
import type { KeyRegistry } from '../signing-keys/registry.ts';
import { assertWritable } from '../redis/redis.ts';
import type { ObjectStore } from '../storage/interface/object-store.ts';
import type { Issuers } from '../tokens/external-issuers/issuers.ts';
import { infoField } from './cache.ts';
import { check, CheckError, sharedFor, type CheckResult } from './check.ts';

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

interface HealthOptions {
  readonly db: Database;
  readonly isolation: Pick<Isolation, 'assertKept' | 'breach'>;
  readonly clocks: Pick<ClockWatch, 'skewTo'>;
  readonly redis: Redis;
  readonly store: ObjectStore;
  readonly signer: SignerClient;
  readonly registry: KeyRegistry;
  readonly issuers: Issuers;
  readonly keys: LabelledKeys;
  readonly isDraining: () => boolean;
}

export type Health = ReturnType<typeof createHealth>;

/** Creates the service that checks what this process depends on. */
export function createHealth(options: HealthOptions) {
  const { redis, store, registry, issuers, keys, isDraining } = options;

  const probes: Readonly<Record<CheckName, () => Promise<unknown>>> = {
    database: () => assertDatabase(options),
    cache: () => assertWritable(redis),
    storage: () => store.ping(),
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

    /** Resolves with whether this process can take traffic. */
    async isReady(): Promise<boolean> {
      if (isDraining() || !keys.isReady()) return false;
      return (await report()).status !== 'error';
    },
  };
}

function overall(checks: HealthReport['checks']): HealthReport['status'] {
  if (isAway(checks.database) || isAway(checks.signer)) return 'error';
  return Object.values(checks).every(({ status }) => status === 'ok') ? 'ok' : 'degraded';
}

const hsmAway = 'hsm_unavailable';
const clockSkew = 'clock_skew';
/** Faults of the database and the signer with which most requests are served nevertheless. */
const tolerated: ReadonlySet<string | undefined> = new Set([hsmAway, clockSkew]);

function isAway({ status, error }: CheckResult): boolean {
  return status === 'error' && !tolerated.has(error);
}

/**
 * Throws unless the database responds, is known to isolate users from each other, and has the time
 * of this process.
 */
async function assertDatabase({ db, isolation, clocks }: HealthOptions): Promise<void> {
  if (isolation.breach !== undefined) throw new CheckError('isolation_broken');
  isolation.assertKept();
  await db.ping();
  if (clocks.skewTo('database') !== undefined) throw new CheckError(clockSkew);
}

/**
 * Throws unless the signer responds on its socket, is logged in to the HSM's token, and has the
 * time of this process.
 */
async function assertSigner({ signer, clocks }: HealthOptions): Promise<void> {
  const { status } = await signer.health();
  if (status !== 'ok') throw new CheckError(hsmAway);
  if (clocks.skewTo('signer') !== undefined) throw new CheckError(clockSkew);
}

/** Throws if Redis may evict keys, since a queue in Redis must not lose any entries. */
async function assertKeepsEverything(redis: Redis): Promise<void> {
  const info = await redis.info('memory');
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
