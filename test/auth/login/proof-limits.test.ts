import { randomBytes, randomUUID } from 'node:crypto';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { createDatabase, databaseUrls, dropDatabase } from '../../../app/dev/postgres/database.ts';
import { openDatabase, type Database } from '../../../app/db/database.ts';
import { createProofLimits, type ProofLimits } from '../../../app/auth/login/proof-limits.ts';
import { AppError } from '../../../app/errors/errors.ts';
import { refusal, someAddress, startReplica } from '../../limits/replica.ts';
import { testStack } from '../../support/vault/stack.ts';

const test = anyTest as TestFn<{ db: Database; close: () => Promise<void> }>;

test.before(async (t) => {
  const { postgres, templateDatabase } = testStack();
  const name = `proofs_${randomUUID().replaceAll('-', '')}`;
  await createDatabase(postgres, name, templateDatabase);
  const { app: url, service: serviceUrl } = databaseUrls(postgres, name);
  const db = await openDatabase({ url, serviceUrl, poolSize: 10 });
  const close = async () => {
    await db.close();
    await dropDatabase(postgres, name);
  };
  t.context = { db, close };
});
test.after.always((t) => t.context.close());

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const tenAQuarter = { count: 10, seconds: 900 };

type Context = ExecutionContext<{ db: Database }>;

/** Proof limits with a clock that `pass` moves. */
function setUp(t: Context, db: Database = t.context.db) {
  const { limits } = startReplica(t, testStack().redisUrl, tenAQuarter);
  const addressKey = randomBytes(32);
  let now = Date.now();
  const proofLimits = createProofLimits({
    limits,
    db,
    clock: () => new Date(now),
    addressKey: () => addressKey,
  });
  const pass = (ms: number) => (now += ms);
  return { limits, proofLimits, pass };
}

async function logIn(proofLimits: ProofLimits, accountId: string, address: string): Promise<void> {
  await (await proofLimits.admit({ accountId, address })).succeeded();
}

/** How many of `times` wrong proofs at once are looked at. */
async function wrongProofs(
  proofLimits: ProofLimits,
  times: number,
  attempt: () => { accountId: string; address: string },
): Promise<number> {
  const attempts = Array.from({ length: times }, () => refusal(proofLimits.admit(attempt())));
  return (await Promise.all(attempts)).filter((refused) => refused === undefined).length;
}

const isAdmitted = async (proofLimits: ProofLimits, accountId: string, address: string) =>
  (await wrongProofs(proofLimits, 1, () => ({ accountId, address }))) === 1;

test('of 50 wrong proofs at once 10 are looked at, and the rest are told when to try again', async (t) => {
  const { proofLimits } = setUp(t);
  const accountId = randomUUID();
  const address = someAddress();
  t.is(await wrongProofs(proofLimits, 50, () => ({ accountId, address })), 10);
  const refused = await refusal(proofLimits.admit({ accountId, address }));
  const { retryAfterSeconds = 0 } = refused ?? {};
  t.true(Number.isInteger(retryAfterSeconds) && retryAfterSeconds > 800, String(retryAfterSeconds));
  t.true(retryAfterSeconds <= 900);
});

test('an address is locked for all accounts', async (t) => {
  const { proofLimits } = setUp(t);
  const address = someAddress();
  t.is(await wrongProofs(proofLimits, 50, () => ({ accountId: randomUUID(), address })), 10);
  t.false(await isAdmitted(proofLimits, randomUUID(), address));
  t.true(await isAdmitted(proofLimits, randomUUID(), someAddress()));
});

test('an attacker’s address is locked while the owner logs in from theirs', async (t) => {
  const { proofLimits } = setUp(t);
  const accountId = randomUUID();
  const home = someAddress();
  await logIn(proofLimits, accountId, home);
  const attacker = someAddress();
  t.is(await wrongProofs(proofLimits, 50, () => ({ accountId, address: attacker })), 10);
  t.false(await isAdmitted(proofLimits, accountId, attacker));
  for (let time = 0; time < 15; time += 1) await logIn(proofLimits, accountId, home);
  t.pass();
});

test('an account attacked from many addresses is locked for unknown addresses only', async (t) => {
  const { proofLimits } = setUp(t);
  const accountId = randomUUID();
  const home = someAddress();
  await logIn(proofLimits, accountId, home);
  const many = () => ({ accountId, address: someAddress() });
  t.is(await wrongProofs(proofLimits, 50, many), 10);
  t.false(await isAdmitted(proofLimits, accountId, someAddress()));
  await logIn(proofLimits, accountId, home);
  await logIn(proofLimits, accountId, `${home.split(':').slice(0, 4).join(':')}::99`);
  t.false(await isAdmitted(proofLimits, accountId, someAddress()), 'a login lifts no lock');
});

test('a known address does not feed the lock of the account, and has a count of its own', async (t) => {
  const { proofLimits, limits } = setUp(t);
  const accountId = randomUUID();
  const home = someAddress();
  await logIn(proofLimits, accountId, home);
  t.is(await wrongProofs(proofLimits, 50, () => ({ accountId, address: home })), 10);
  t.false(await isAdmitted(proofLimits, randomUUID(), home), 'it feeds the one of the address');
  for (let time = 0; time < 10; time += 1) await limits.giveBack('proof-address', home);
  t.false(await isAdmitted(proofLimits, accountId, home), 'its own');
  t.true(await isAdmitted(proofLimits, randomUUID(), home));
  const many = () => ({ accountId, address: someAddress() });
  t.is(await wrongProofs(proofLimits, 50, many), 10, 'the account’s is as it was');
});

test('an address stays known for 30 days after the last login', async (t) => {
  const { proofLimits, pass } = setUp(t);
  const accountId = randomUUID();
  const home = someAddress();
  await logIn(proofLimits, accountId, home);
  pass(20 * dayMs);
  await logIn(proofLimits, accountId, home);
  // Not written down: the record is not an hour old.
  pass(59 * minuteMs);
  await logIn(proofLimits, accountId, home);
  await wrongProofs(proofLimits, 10, () => ({ accountId, address: someAddress() }));

  pass(30 * dayMs);
  t.true(await isAdmitted(proofLimits, accountId, home));
  pass(2 * 60 * minuteMs);
  t.false(await isAdmitted(proofLimits, accountId, home));
});

test('the 20 addresses of the latest logins are known, by their hash', async (t) => {
  const { proofLimits, pass } = setUp(t);
  const accountId = randomUUID();
  const addresses = Array.from({ length: 21 }, someAddress);
  const [first = '', second = ''] = addresses;
  for (const address of addresses) {
    await logIn(proofLimits, accountId, address);
    pass(1);
  }
  const rows = await t.context.db.asService((tx) =>
    tx.selectFrom('known_addresses').selectAll().where('account_id', '=', accountId).execute(),
  );
  t.is(rows.length, 20);
  for (const { address_hash: hash } of rows) t.regex(hash, /^[\da-f]{64}$/);
  await wrongProofs(proofLimits, 10, () => ({ accountId, address: someAddress() }));
  t.false(await isAdmitted(proofLimits, accountId, first), 'the oldest is forgotten');
  t.true(await isAdmitted(proofLimits, accountId, second));
});

test('addresses are known to one account only', async (t) => {
  const { proofLimits } = setUp(t);
  const accountId = randomUUID();
  const address = someAddress();
  await logIn(proofLimits, randomUUID(), address);
  await wrongProofs(proofLimits, 10, () => ({ accountId, address: someAddress() }));
  t.false(await isAdmitted(proofLimits, accountId, address));
});

test('right proofs and withdrawn ones count nowhere, and only right ones make an address known', async (t) => {
  const { proofLimits } = setUp(t);
  const accountId = randomUUID();
  const address = someAddress();
  for (let time = 0; time < 12; time += 1) {
    await (await proofLimits.admit({ accountId, address })).withdraw();
  }
  const many = () => ({ accountId, address: someAddress() });
  t.is(await wrongProofs(proofLimits, 50, many), 10);
  t.false(await isAdmitted(proofLimits, accountId, address), 'not known');

  const other = randomUUID();
  for (let time = 0; time < 12; time += 1) await logIn(proofLimits, other, someAddress());
  t.is(await wrongProofs(proofLimits, 50, () => ({ accountId: other, address })), 10);
});

test('an attempt is taken back once, however often it is withdrawn', async (t) => {
  const { proofLimits } = setUp(t);
  const accountId = randomUUID();
  const address = someAddress();
  await wrongProofs(proofLimits, 9, () => ({ accountId, address }));
  const attempt = await proofLimits.admit({ accountId, address });
  await attempt.succeeded();
  await Promise.all([attempt.withdraw(), attempt.withdraw()]);
  t.is(await wrongProofs(proofLimits, 50, () => ({ accountId: randomUUID(), address })), 1);
});

test('what the account’s lock refuses does not count for the address', async (t) => {
  const { proofLimits } = setUp(t);
  const accountId = randomUUID();
  const address = someAddress();
  await wrongProofs(proofLimits, 10, () => ({ accountId, address: someAddress() }));
  t.is(await wrongProofs(proofLimits, 20, () => ({ accountId, address })), 0);
  t.is(await wrongProofs(proofLimits, 50, () => ({ accountId: randomUUID(), address })), 10);
});

test('an attempt that the database could not admit counts nowhere', async (t) => {
  const serviceUrl = 'postgresql://nobody:x@127.0.0.1:1/none';
  const away = await openDatabase({ url: serviceUrl, serviceUrl, poolSize: 1 });
  t.teardown(() => away.close());
  const address = someAddress();
  const { proofLimits: withoutDatabase } = setUp(t, away);
  for (let time = 0; time < 12; time += 1) {
    const error = await t.throwsAsync(withoutDatabase.admit({ accountId: randomUUID(), address }), {
      instanceOf: AppError,
    });
    t.is(error?.code, 'database_unavailable');
  }
  const { proofLimits } = setUp(t);
  t.is(await wrongProofs(proofLimits, 50, () => ({ accountId: randomUUID(), address })), 10);
});
