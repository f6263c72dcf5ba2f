import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createApp } from '../../../app/app.ts';
import { loadConfig, type Config } from '../../../app/config/config.ts';
import {
  createDatabase,
  databaseUrls,
  dropDatabase,
  type DatabaseUrls,
} from '../../../app/dev/postgres/database.ts';
import { realmVariables } from '../../../app/dev/identity-provider/realm.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { createProxyTrust } from '../../../app/http/requests/client-address.ts';
import { listen } from '../../../app/http/server/server.ts';
import type { TokenSubject } from '../../../app/tokens/access-token.ts';
import { startServices, type Services } from '../../../app/wiring/services.ts';
import { createLog } from '../../../app/telemetry/log.ts';
import { newMetrics } from '../metrics/new-metrics.ts';
import { recordOutage } from '../runs/recorded-outages.ts';
import { withoutLimits } from './without-limits.ts';
import { testStack, testIssuer, type TestStack } from './stack.ts';

export type TokenKind = 'access' | 'reauth';

/** A vault that tests use over HTTP and through its database. */
export interface Vault {
  readonly baseUrl: string;
  readonly databases: DatabaseUrls;
  /** The directory in which its e-mails are stored as files. */
  readonly mailDirectory: string;
  /** The root directory of its filesystem store. Throws if it has another store. */
  readonly storeDirectory: string;
  /** Issues tokens of the vault without the cost of a login. */
  readonly tokens: {
    /** Issues an access token. */
    access(caller: TokenSubject): Promise<string>;
    /** Issues a reauthentication token. */
    reauth(caller: Pick<TokenSubject, 'userId'>): Promise<string>;
  };
}

/** The whole application in this process, with its own database and object store. */
export interface TestVault extends Vault {
  readonly config: Config;
  readonly services: Services;
  /** All log lines so far, as JSON text. */
  readonly logLines: readonly string[];
  stop(): Promise<void>;
}

/** Settings of what a vault needs to be ready. */
const needed = ['DATABASE_URL', 'REDIS_URL', 'SIGNER_SOCKET_PATH'];

/**
 * Starts a vault; resolves as soon as it listens. It is then ready, unless the test has other
 * settings of what it needs, which may be away.
 * @param settings Environment variables that override the test's own.
 * @param stack The services that it uses; those of all tests by default.
 */
export async function startVault(
  settings: NodeJS.ProcessEnv = {},
  stack: TestStack = testStack(),
): Promise<TestVault> {
  assertOwnCounts(settings);
  const { postgres, templateDatabase, redisUrl, signerSocketPath, identityProviderUrl } = stack;
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-vault-'));
  const database = `test_${randomUUID().replaceAll('-', '')}`;
  await createDatabase(postgres, database, templateDatabase);
  const databases = databaseUrls(postgres, database);
  const config = loadConfig({
    NODE_ENV: 'test',
    LOG_LEVEL: 'info',
    PORT: '0',
    HTTP_PUBLIC_URL: testIssuer,
    DATABASE_URL: databases.app,
    DATABASE_SERVICE_URL: databases.service,
    REDIS_URL: redisUrl,
    STORAGE_DIRECTORY: path.join(directory, 'objects'),
    SIGNER_SOCKET_PATH: signerSocketPath,
    MAIL_DIRECTORY: directory,
    ...realmVariables(identityProviderUrl),
    ...withoutLimits,
    ...settings,
  });
  const logLines: string[] = [];
  const log = createLog(config.logLevel, {
    write(line) {
      logLines.push(line);
      recordOutage(line);
    },
  });
  const services = await startServices(config, log, newMetrics());
  const trust = createProxyTrust(config.http.trustedProxies);
  const app = createApp({ config, services, trust, log }, 'public');
  const server = await listen(app, { ...config.http, ...trust }, log);
  if (needed.every((name) => settings[name] === undefined)) {
    await until(() => services.health.isReady(), { what: 'readiness', timeoutMs: 60_000 });
  }
  return {
    baseUrl: `http://${config.http.host}:${server.port}`,
    config,
    services,
    databases,
    mailDirectory: directory,
    get storeDirectory() {
      const { storage } = config;
      if (storage.driver !== 'filesystem') throw new Error('the vault has no filesystem store');
      return storage.directory;
    },
    tokens: {
      access: (caller) => services.tokens.issue(caller),
      reauth: async (caller) => (await services.reauthTokens.issue(caller)).reauthToken,
    },
    logLines,
    async stop() {
      services.beginDrain();
      // No request is in transit once a test has its responses.
      await server.drain(2, 0);
      await services.stop();
      await dropDatabase(postgres, database);
      // A mark may be written to the directory at this moment.
      await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/**
 * Throws if a vault with a limit by address would count in the Redis of all tests, where the
 * requests of other vaults from the same address count too.
 */
function assertOwnCounts(settings: NodeJS.ProcessEnv): void {
  const limits = Object.keys(settings).filter((name) => /^LIMITS_.*_ADDRESS$/.test(name));
  const isAlone = 'REDIS_URL' in settings || 'HTTP_TRUSTED_PROXIES' in settings;
  if (limits.length === 0 || isAlone) return;
  throw new Error(`${limits.join(', ')}: needs a Redis, or addresses of clients, of its own`);
}

/**
 * Starts a vault and waits until it is ready: it has its keys from the signer and accepts every
 * request.
 */
export async function startReadyVault(
  settings: NodeJS.ProcessEnv = {},
  stack: TestStack = testStack(),
): Promise<TestVault> {
  const vault = await startVault(settings, stack);
  await untilReady(vault.baseUrl);
  return vault;
}

export async function untilReady(baseUrl: string): Promise<void> {
  const isReady = async () => (await fetch(`${baseUrl}/health/ready`)).ok;
  await until(() => isReady().catch(() => false), {
    what: 'the vault to be ready',
    timeoutMs: 60_000,
  });
}
