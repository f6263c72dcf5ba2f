import type { ExecutionContext } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import type { AuditProof } from '../../client/proofs/proof-format.ts';
import { getJson, send, type JsonAnswer } from '../support/http/send.ts';
import { createKeyFile } from '../support/vault/key-file.ts';
import {
  createTokenFixture,
  startSigner,
  type RunningSigner,
  type TokenFixture,
} from '../support/audit/token-fixture.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { startVault, untilReady, type TestVault } from '../support/vault/vault.ts';

export type Purpose = 'audit' | 'token';

/** A key as the registry lists it. */
export interface ListedKey {
  readonly keyId: string;
  readonly purpose: Purpose;
  readonly algorithm: string;
  readonly publicKey: string;
  readonly fingerprint: string;
  readonly generation: number;
  readonly imported: boolean;
  readonly state: string;
  readonly registeredAt: string;
  readonly activatedAt: string | null;
  readonly retiredAt: string | null;
  readonly compromisedSince: string | null;
  readonly compromise: AuditProof | null;
  readonly record: AuditProof | null;
  readonly vouchedBy: string | null;
}

/** A test's own token, with the first key of each purpose, and its signer. */
export interface OwnToken {
  readonly fixture: TokenFixture;
  readonly signer: RunningSigner;
  remove(): Promise<void>;
}

export async function createOwnToken(): Promise<OwnToken> {
  await using resources = new AsyncDisposableStack();
  const fixture = await createTokenFixture();
  resources.defer(() => fixture.remove());
  await fixture.tool('init');
  const signer = await startSigner(fixture);
  resources.defer(async () => void (await signer.stop()));
  await until(async () => (await signer.client.health()).token === 'ready', {
    what: 'the token',
    timeoutMs: 60_000,
  });
  const running = resources.move();
  return { fixture, signer, remove: () => running.disposeAsync() };
}

/** A vault with its own token, and the operations on its keys. */
export interface KeysVault {
  readonly fixture: TokenFixture;
  readonly signer: RunningSigner;
  readonly vault: TestVault;
  readonly sql: Sql;
  readonly internalKey: string;
  /** Settings for other processes on the same token and with the same internal API keys. */
  readonly settings: Record<string, string>;
  /** Resolves with the response, whatever its status is. */
  send(method: string, path: string, json?: unknown): Promise<JsonAnswer>;
  list(): Promise<ListedKey[]>;
  activeKey(purpose: Purpose): Promise<ListedKey>;
  /** Creates a key and waits until its record is signed. */
  create(purpose: Purpose): Promise<ListedKey>;
  activate(keyId: string): Promise<ListedKey>;
  stop(): Promise<void>;
}

/** @param token Removed with the vault. Default: a new one. */
export async function startKeysVault(
  more: Record<string, string> = {},
  token?: OwnToken,
): Promise<KeysVault> {
  await using resources = new AsyncDisposableStack();
  const { fixture, signer, remove } = token ?? (await createOwnToken());
  resources.defer(remove);
  const keyFile = await createKeyFile();
  resources.defer(() => keyFile.remove());
  const settings = {
    SIGNER_SOCKET_PATH: fixture.environment.SIGNER_SOCKET_PATH,
    INTERNAL_API_KEYS_FILE: keyFile.path,
    KEYS_PUBLISH_SECONDS: '0',
    ...more,
  };
  const vault = await startVault(settings);
  resources.defer(() => vault.stop());
  await untilReady(vault.baseUrl);
  const headers = { 'X-Internal-Api-Key': keyFile.admin };
  const ask = (method: string, path: string, json?: unknown) =>
    send(method, `${vault.baseUrl}/v1/internal/keys${path}`, { headers, json });
  const done = async (method: string, path: string, json?: unknown) => {
    const { status, body, text } = await ask(method, path, json);
    if (status !== 200 && status !== 201) throw new Error(`${path}: ${status} ${text}`);
    return body as ListedKey;
  };
  const list = async () =>
    ((await getJson(`${vault.baseUrl}/v1/audit/keys`)).body as { keys: ListedKey[] }).keys;
  const find = (keyId: string) => list().then((keys) => keys.find((key) => key.keyId === keyId));
  const running = resources.move();
  return {
    fixture,
    signer,
    vault,
    sql: createSql(vault),
    internalKey: keyFile.admin,
    settings,
    send: ask,
    list,
    async activeKey(purpose) {
      const active = (await list()).filter((key) => key.state === 'ACTIVE');
      const [key, ...others] = active.filter((one) => one.purpose === purpose);
      if (key === undefined || others.length > 0)
        throw new Error('each purpose must have one active key');
      return key;
    },
    async create(purpose) {
      const { keyId } = await done('POST', '', { purpose });
      return until(
        async () => {
          const key = await find(keyId);
          return key !== undefined && key.record !== null && key;
        },
        { what: 'the record of the key', timeoutMs: 60_000 },
      );
    },
    activate: (keyId) => done('POST', `/${keyId}/activate`),
    stop: () => running.disposeAsync(),
  };
}

/** Starts a vault for one test only; it stops when the test ends. */
export async function startOwnKeysVault(
  t: Pick<ExecutionContext, 'teardown'>,
  ...options: Parameters<typeof startKeysVault>
): Promise<KeysVault> {
  const vault = await startKeysVault(...options);
  t.teardown(() => vault.stop());
  return vault;
}

/** Returns the audit entry that a key's record proves. */
export function readRecord(record: AuditProof | null) {
  return JSON.parse(record?.entryCanonical ?? 'null') as {
    action: string;
    resource: { readonly type: string; readonly id: string; readonly owner: string };
    actor: object;
    seq: number;
    requestId: string | null;
    data: Record<string, unknown>;
  };
}
