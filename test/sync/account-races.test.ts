import { randomBytes, randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { inventAccount } from '../support/accounts/test-account.ts';
import {
  createRecoverable,
  recoveryFields,
  type Recoverable,
} from '../support/accounts/recovery-account.ts';
import {
  anyEnvelope,
  ask,
  createDevice,
  logInAt,
  reauthHeader,
} from '../support/accounts/owner.ts';
import { send } from '../support/http/send.ts';
import { createSql } from '../support/vault/sql.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';
import type { Vault } from '../support/vault/vault.ts';

const test = anyTest as TestFn<{ vault: Vault }>;

test.before(async (t) => {
  t.context = { vault: sharedVault() };
});

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

interface Writers {
  readonly deviceIds: readonly string[];
  /** Number of responses by status and code, such as `201 done` or `401 invalid_token`. */
  readonly answers: ReadonlyMap<string, number>;
  /** Resolves once this many more objects were created. */
  untilMore(count: number): Promise<void>;
  /** Resolves once every writer was refused for its session or its device. */
  untilRefused(): Promise<void>;
}

const isFinal = (answer: string) => /^40[13] /.test(answer);

/**
 * Starts four devices of an account, with three writers each, that change, delete and create
 * objects until they are refused.
 */
async function startWriters(vault: Vault, { account, token }: Recoverable): Promise<Writers> {
  const objectIds = numbers(3).map(() => randomUUID());
  // The first device is bound to the owner's own session.
  const first = await createDevice(vault, token);
  const others = await Promise.all(numbers(3).map(() => createDevice(vault, token)));
  const deviceIds = [first, ...others];
  const answers = new Map<string, number>();

  async function write(deviceId: string, lane: number): Promise<void> {
    const { body } = await logInAt(vault, account, deviceId);
    const { accessToken } = body as { accessToken: string };
    const post = async (path: string, json: object) => {
      const headers = {
        'X-Device-Id': deviceId,
        'X-Schema-Version': '1',
        'X-Sync-Request-Id': randomUUID(),
      };
      const url = `${vault.baseUrl}${path}`;
      const { status, body: told } = await send('POST', url, { token: accessToken, json, headers });
      const { code = 'done' } = told as { code?: string };
      const answer = `${status} ${code}`;
      answers.set(answer, (answers.get(answer) ?? 0) + 1);
      return answer;
    };
    for (let n = lane; ; n += 1) {
      const objectId = objectIds[n % objectIds.length];
      const change = { objectId, version: 1, baseVersion: null };
      const last = [
        await post('/v1/sync/create', { objectId, data: {} }),
        await post('/v1/sync', { ...change, delta: { [`${deviceId}-${lane}`]: n } }),
        await post('/v1/sync/create', { objectId: randomUUID(), data: { n } }),
        n % 7 === 0 ? await post('/v1/sync', { ...change, deleted: true }) : '',
      ];
      if (last.some(isFinal)) return;
    }
  }

  const writing = Promise.all(
    deviceIds.flatMap((deviceId) => numbers(3).map((lane) => write(deviceId, lane))),
  );
  const made = () => answers.get('201 done') ?? 0;
  return {
    deviceIds,
    answers,
    async untilMore(count) {
      const enough = made() + count;
      await until(() => made() >= enough, { what: 'more objects', timeoutMs: 60_000 });
    },
    untilRefused: async () => void (await writing),
  };
}

test.serial(
  'writes concurrent with a revocation and a rekey either succeed or are refused',
  async (t) => {
    const { vault } = t.context;
    const owner = await createRecoverable(vault);
    const { token } = owner;
    const headers = await reauthHeader(vault, owner);
    const { deviceIds, answers, ...writers } = await startWriters(vault, owner);
    await writers.untilMore(20);
    const revoked = await ask(vault, token, 'DELETE', `/devices/${deviceIds[1]}`);
    t.is(revoked.status, 204);
    await writers.untilMore(20);
    const { saltHex: salt, verifierHex: verifier } = inventAccount();
    const rekeyed = await send('PUT', `${vault.baseUrl}/v1/auth/credentials`, {
      token,
      headers,
      json: {
        salt,
        verifier,
        masterEnvelope: anyEnvelope(),
        recovery: { encryptedEnvelope: anyEnvelope(), ...recoveryFields(inventAccount()) },
        devices: deviceIds
          .filter((deviceId) => deviceId !== deviceIds[1])
          .map((deviceId) => ({ deviceId, encryptedEnvelope: anyEnvelope() })),
        keyring: randomBytes(60).toString('base64'),
      },
    });
    t.is(rekeyed.status, 204);
    await writers.untilRefused();
    const failures = [...answers.keys()].filter((answer) => answer.startsWith('5'));
    t.deepEqual(failures, []);
  },
);

test.serial(
  'writes concurrent with a closure either succeed or are refused, and leave nothing',
  async (t) => {
    const { vault } = t.context;
    const owner = await createRecoverable(vault);
    const { token, userId } = owner;
    const headers = await reauthHeader(vault, owner);
    const { deviceIds, answers, ...writers } = await startWriters(vault, owner);
    await writers.untilMore(20);
    const [closed, revoked] = await Promise.all([
      send('DELETE', `${vault.baseUrl}/v1/auth/account`, { token, headers }),
      ask(vault, token, 'DELETE', `/devices/${deviceIds[1]}`),
    ]);
    t.is(closed.status, 204);
    t.true([204, 401, 404].includes(revoked.status), revoked.text);
    await writers.untilRefused();
    const failures = [...answers.keys()].filter((answer) => answer.startsWith('5'));
    t.deepEqual(failures, []);
    for (const table of ['sync_objects', 'sync_history', 'sync_requests', 'sync_counters']) {
      const left = await createSql(vault)(`select 1 from ${table} where user_id = $1`, [userId]);
      t.deepEqual(left, [], table);
    }
  },
);
