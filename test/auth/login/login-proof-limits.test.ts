import { randomBytes, randomUUID } from 'node:crypto';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { createDatabase, databaseUrls, dropDatabase } from '../../../app/dev/postgres/database.ts';
import { openDatabase, type Database } from '../../../app/db/database.ts';
import { createProofLimits, type ProofLimits } from '../../../app/auth/login/login-proof-limits.ts';
import { AppError } from '../../../app/errors/app-error.ts';
import { refusal, someClientAddress, startReplica } from '../../limits/replica.ts';
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

/** Creates proof limits with a clock that `pass` moves forward. */
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

async function logIn(
  proofLimits: ProofLimits,
  accountId: string,
  clientAddress: string,
): Promise<void> {
  await (await proofLimits.admit({ accountId, clientAddress })).succeeded();
}

/** Returns how many of `times` concurrent wrong proofs are admitted. */
async function wrongProofs(
  proofLimits: ProofLimits,
  times: number,
  attempt: () => Parameters<ProofLimits['admit']>[0],
): Promise<number> {
  const attempts = Array.from({ length: times }, () => refusal(proofLimits.admit(attempt())));
  return (await Promise.all(attempts)).filter((refused) => refused === undefined).length;
}

const isAdmitted = async (proofLimits: ProofLimits, accountId: string, clientAddress: string) =>
  (await wrongProofs(proofLimits, 1, () => ({ accountId, clientAddress }))) === 1;

test('10 of 50 concurrent wrong proofs are admitted; the rest get Retry-After', async (t) => {
  const { proofLimits } = setUp(t);
  const accountId = randomUUID();
  const clientAddress = someClientAddress();
  t.is(await wrongProofs(proofLimits, 50, () => ({ accountId, clientAddress })), 10);
  const refused = await refusal(proofLimits.admit({ accountId, clientAddress }));
  const { retryAfterSeconds = 0 } = refused ?? {};
  t.true(Number.isInteger(retryAfterSeconds) && retryAfterSeconds > 800, String(retryAfterSeconds));
  t.true(retryAfterSeconds <= 900);
});

test('a locked client address is locked for every account', async (t) => {
  const { proofLimits } = setUp(t);
  const clientAddress = someClientAddress();
  t.is(await wrongProofs(proofLimits, 50, () => ({ accountId: randomUUID(), clientAddress })), 10);
  t.false(await isAdmitted(proofLimits, randomUUID(), clientAddress));
  t.true(await isAdmitted(proofLimits, randomUUID(), someClientAddress()));
});

test('an attacker is locked out while the owner logs in from a known place', async (t) => {
  const { proofLimits } = setUp(t);
  const accountId = randomUUID();
  const home = someClientAddress();
  await logIn(proofLimits, accountId, home);
  const attacker = someClientAddress();
  t.is(await wrongProofs(proofLimits, 50, () => ({ accountId, clientAddress: attacker })), 10);
  t.false(await isAdmitted(proofLimits, accountId, attacker));
  for (let time = 0; time < 15; time += 1) await logIn(proofLimits, accountId, home);
  t.pass();
});

test('an account attacked from many client addresses stays open to known ones', async (t) => {
  const { proofLimits } = setUp(t);
  const accountId = randomUUID();
  const home = someClientAddress();
  await logIn(proofLimits, accountId, home);
  const many = () => ({ accountId, clientAddress: someClientAddress() });
  t.is(await wrongProofs(proofLimits, 50, many), 10);
  t.false(await isAdmitted(proofLimits, accountId, someClientAddress()));
  await logIn(proofLimits, accountId, home);
  await logIn(proofLimits, accountId, `${home.split(':').slice(0, 4).join(':')}::99`);
  t.false(
    await isAdmitted(proofLimits, accountId, someClientAddress()),
    'a login does not lift the lock',
  );
});

test('a known client address has its own limit and does not lock the account', async (t) => {
  const { proofLimits, limits } = setUp(t);
  const accountId = randomUUID();
  const home = someClientAddress();
  await logIn(proofLimits, accountId, home);
  t.is(await wrongProofs(proofLimits, 50, () => ({ accountId, clientAddress: home })), 10);
  t.false(
    await isAdmitted(proofLimits, randomUUID(), home),
    'the limit of the client address counts them',
  );
  for (let time = 0; time < 10; time += 1) await limits.giveBack('proof-address', home);
  t.false(await isAdmitted(proofLimits, accountId, home), 'its own limit is used up');
  t.true(await isAdmitted(proofLimits, randomUUID(), home));
  const many = () => ({ accountId, clientAddress: someClientAddress() });
  t.is(await wrongProofs(proofLimits, 50, many), 10, 'the limit of the account is untouched');
});

test('a client address stays known for 30 days after its last login', async (t) => {
  const { proofLimits, pass } = setUp(t);
  const accountId = randomUUID();
  const home = someClientAddress();
  await logIn(proofLimits, accountId, home);
  pass(20 * dayMs);
  await logIn(proofLimits, accountId, home);
  // The database is not updated: the stored time of the last login is less than an hour old.
  pass(59 * minuteMs);
  await logIn(proofLimits, accountId, home);
  await wrongProofs(proofLimits, 10, () => ({ accountId, clientAddress: someClientAddress() }));

  pass(30 * dayMs);
  t.true(await isAdmitted(proofLimits, accountId, home));
  pass(2 * 60 * minuteMs);
  t.false(await isAdmitted(proofLimits, accountId, home));
});

test('the client addresses of the latest 20 logins are known, stored as hashes', async (t) => {
  const { proofLimits, pass } = setUp(t);
  const accountId = randomUUID();
  const addresses = Array.from({ length: 21 }, someClientAddress);
  const [first = '', second = ''] = addresses;
  for (const clientAddress of addresses) {
    await logIn(proofLimits, accountId, clientAddress);
    pass(1);
  }
  const rows = await t.context.db.asService((tx) =>
    tx.selectFrom('known_addresses').selectAll().where('account_id', '=', accountId).execute(),
  );
  t.is(rows.length, 20);
  for (const { address_hash: hash } of rows) t.regex(hash, /^[\da-f]{64}$/);
  await wrongProofs(proofLimits, 10, () => ({ accountId, clientAddress: someClientAddress() }));
  t.false(await isAdmitted(proofLimits, accountId, first), 'the oldest is no longer known');
  t.true(await isAdmitted(proofLimits, accountId, second));
});

test('a client address is known to one account only', async (t) => {
  const { proofLimits } = setUp(t);
  const accountId = randomUUID();
  const clientAddress = someClientAddress();
  await logIn(proofLimits, randomUUID(), clientAddress);
  await wrongProofs(proofLimits, 10, () => ({ accountId, clientAddress: someClientAddress() }));
  t.false(await isAdmitted(proofLimits, accountId, clientAddress));
});

test('an account at a client address that it knows is not locked by its neighbours', async (t) => {
  const { proofLimits } = setUp(t);
  const accountId = randomUUID();
  const home = someClientAddress();
  await logIn(proofLimits, accountId, home);
  t.is(
    await wrongProofs(proofLimits, 50, () => ({ accountId: randomUUID(), clientAddress: home })),
    10,
  );
  t.false(await isAdmitted(proofLimits, randomUUID(), home));
  for (let time = 0; time < 15; time += 1) await logIn(proofLimits, accountId, home);
  t.is(await wrongProofs(proofLimits, 50, () => ({ accountId, clientAddress: home })), 10);
  t.false(await isAdmitted(proofLimits, randomUUID(), home), 'a right proof lifts no lock');
});

test('wrong proofs of two accounts that know their client address lock neither', async (t) => {
  const { proofLimits } = setUp(t);
  const [one, other] = [randomUUID(), randomUUID()];
  const home = someClientAddress();
  for (const accountId of [one, other]) await logIn(proofLimits, accountId, home);
  t.is(await wrongProofs(proofLimits, 50, () => ({ accountId: one, clientAddress: home })), 10);
  t.true(await isAdmitted(proofLimits, other, home));
  t.false(await isAdmitted(proofLimits, one, home));
});

test('a login session reauthenticates anywhere, whatever strangers get wrong', async (t) => {
  const { proofLimits } = setUp(t);
  const [accountId, sessionId] = [randomUUID(), randomUUID()];
  const clientAddress = someClientAddress();
  await wrongProofs(proofLimits, 10, () => ({ accountId, clientAddress: someClientAddress() }));
  await wrongProofs(proofLimits, 10, () => ({ accountId: randomUUID(), clientAddress }));
  t.false(await isAdmitted(proofLimits, accountId, someClientAddress()));
  t.is(await wrongProofs(proofLimits, 50, () => ({ accountId, clientAddress, sessionId })), 10);
  const elsewhere = { accountId, clientAddress: someClientAddress(), sessionId };
  t.is(await wrongProofs(proofLimits, 1, () => elsewhere), 0, 'its own limit is used up');
});

/** Returns how many of `times` challenges are admitted; `accountId` is the account, if any. */
async function challenges(
  proofLimits: ProofLimits,
  times: number,
  clientAddress: string,
  accountId?: string,
): Promise<number> {
  let admitted = 0;
  for (let time = 0; time < times; time += 1) {
    const findAccountId = async () => accountId;
    const refused = await refusal(proofLimits.admitChallenge({ clientAddress, findAccountId }));
    if (refused === undefined) admitted += 1;
  }
  return admitted;
}

test('challenges of neighbours refuse none of an account that knows the address', async (t) => {
  const { proofLimits } = setUp(t);
  const accountId = randomUUID();
  const home = someClientAddress();
  await logIn(proofLimits, accountId, home);
  t.is(await challenges(proofLimits, 50, home), 10);
  t.is(await challenges(proofLimits, 1, home, randomUUID()), 0);
  t.is(await challenges(proofLimits, 50, home, accountId), 10, 'it has a limit of its own');
  t.is(await challenges(proofLimits, 1, someClientAddress(), accountId), 1);
});

test('correct and withdrawn proofs do not count; only correct ones are remembered', async (t) => {
  const { proofLimits } = setUp(t);
  const accountId = randomUUID();
  const clientAddress = someClientAddress();
  for (let time = 0; time < 12; time += 1) {
    await (await proofLimits.admit({ accountId, clientAddress })).withdraw();
  }
  const many = () => ({ accountId, clientAddress: someClientAddress() });
  t.is(await wrongProofs(proofLimits, 50, many), 10);
  t.false(
    await isAdmitted(proofLimits, accountId, clientAddress),
    'a withdrawn proof makes no address known',
  );

  const other = randomUUID();
  for (let time = 0; time < 12; time += 1) await logIn(proofLimits, other, someClientAddress());
  t.is(await wrongProofs(proofLimits, 50, () => ({ accountId: other, clientAddress })), 10);
});

test('an attempt is given back once, however often it is withdrawn', async (t) => {
  const { proofLimits } = setUp(t);
  const accountId = randomUUID();
  const clientAddress = someClientAddress();
  await wrongProofs(proofLimits, 9, () => ({ accountId, clientAddress }));
  const attempt = await proofLimits.admit({ accountId, clientAddress });
  await attempt.succeeded();
  await Promise.all([attempt.withdraw(), attempt.withdraw()]);
  t.is(await wrongProofs(proofLimits, 50, () => ({ accountId: randomUUID(), clientAddress })), 1);
});

test('an attempt that the account’s lock refuses costs the client address none', async (t) => {
  const { proofLimits } = setUp(t);
  const accountId = randomUUID();
  const clientAddress = someClientAddress();
  await wrongProofs(proofLimits, 10, () => ({ accountId, clientAddress: someClientAddress() }));
  t.is(await wrongProofs(proofLimits, 20, () => ({ accountId, clientAddress })), 0);
  t.is(await wrongProofs(proofLimits, 50, () => ({ accountId: randomUUID(), clientAddress })), 10);
});

test('an attempt that failed in the database does not count', async (t) => {
  const serviceUrl = 'postgresql://nobody:x@127.0.0.1:1/none';
  const away = await openDatabase({ url: serviceUrl, serviceUrl, poolSize: 1 });
  t.teardown(() => away.close());
  const clientAddress = someClientAddress();
  const { proofLimits: withoutDatabase } = setUp(t, away);
  for (let time = 0; time < 12; time += 1) {
    const error = await t.throwsAsync(
      withoutDatabase.admit({ accountId: randomUUID(), clientAddress }),
      {
        instanceOf: AppError,
      },
    );
    t.is(error?.code, 'database_unavailable');
  }
  const { proofLimits } = setUp(t);
  t.is(await wrongProofs(proofLimits, 50, () => ({ accountId: randomUUID(), clientAddress })), 10);
});
