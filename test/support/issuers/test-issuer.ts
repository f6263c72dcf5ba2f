import { randomUUID } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import type { JWTPayload } from 'jose';
import { readIssuers, type IssuerConfig } from '../../../app/tokens/issuers/config.ts';
import { startKeySet, type KeySet } from '../../../app/tokens/issuers/key-set.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { AppError, type ErrorCode } from '../../../app/errors/errors.ts';
import { createLog } from '../../../app/telemetry/log.ts';
import { issuersFile } from './issuers-file.ts';
import { startKeyServer, type KeyServer } from './key-server.ts';
import { createSigningKey, type SigningKey } from './signing-key.ts';

/** An issuer of a test's own, at a clock of the test's own. */
export interface TestIssuer {
  readonly server: KeyServer;
  readonly key: SigningKey;
  readonly config: IssuerConfig;
  readonly logLines: readonly string[];
  readonly clock: () => Date;
  passSeconds(seconds: number): void;
  /** Claims of a token that is taken. */
  claims(changes?: JWTPayload): JWTPayload;
  /** A key set that the end of the test stops. */
  startKeySet(): KeySet;
}

/** One for all: keys are slow to make, and no test sees another's issuer. */
const signingKey = createSigningKey();

/** @param settings over those of an issuer that publishes one key and grants a little of everything. */
export async function startTestIssuer(
  t: ExecutionContext,
  settings: Record<string, unknown> = {},
): Promise<TestIssuer> {
  const server = await startKeyServer();
  t.teardown(() => server.close());
  const key = await signingKey;
  server.publish(key.jwk);
  const file = await issuersFile(t, [{ ...testIssuer(server.url), ...settings }]);
  const { issuers, problems } = readIssuers(file, 'https://vault.test');
  const [config] = issuers;
  if (config === undefined) throw new Error(problems.join('\n'));

  const logLines: string[] = [];
  const log = createLog('info', { write: (line) => void logLines.push(line) });
  let now = Date.now();
  const clock = () => new Date(now);
  return {
    server,
    key,
    config,
    logLines,
    clock,
    passSeconds(seconds) {
      now += seconds * 1000;
    },
    claims(changes) {
      const iat = Math.floor(now / 1000);
      const { issuer: iss, audience: aud } = config;
      return { iss, aud, iat, exp: iat + 300, sub: randomUUID(), ...changes };
    },
    startKeySet() {
      const stop = new AbortController();
      t.teardown(() => stop.abort());
      return startKeySet({ config, log, clock, stop: stop.signal });
    },
  };
}

export function testIssuer(jwksUri: string) {
  return {
    issuer: `https://${randomUUID()}.test/realm`,
    jwksUri,
    audience: 'vault',
    allowInsecureHttp: true,
    grants: { roles: ['user', 'auditor'], scopes: ['documents:read'], tenants: ['one', 'two'] },
  };
}

export async function untilFetched(keys: KeySet): Promise<void> {
  const options = { what: 'the first keys', timeoutMs: 20_000 };
  await until(() => keys.state().isUsable, options);
}

export async function throwsCode(
  t: ExecutionContext,
  work: Promise<unknown>,
  code: ErrorCode,
  message?: string,
): Promise<void> {
  const error = await t.throwsAsync(work, { instanceOf: AppError }, message);
  t.is(error?.code, code, message);
}
