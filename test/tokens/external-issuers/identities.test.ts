import test from 'ava';
import { createIdentities } from '../../../app/tokens/external-issuers/identities.ts';
import { startTestDatabase } from './test-database.ts';

const someone = { issuer: 'https://one.test', subject: 'someone' };

test('twenty concurrent first logins at two replicas create one user', async (t) => {
  const database = await startTestDatabase(t);
  const replicas = [createIdentities(database.db), createIdentities(await database.open())];
  const ids = await Promise.all(
    Array.from({ length: 10 }, () => replicas.map(({ identify }) => identify(someone))).flat(),
  );
  t.is(ids.length, 20);
  t.is(new Set(ids).size, 1);
  t.regex(ids[0] ?? '', /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  t.is(await database.countIdentities(), 1);
});

test('an equal subject of another issuer, or another spelling, is another user', async (t) => {
  const { db, countIdentities } = await startTestDatabase(t);
  const { identify } = createIdentities(db);
  const subjects = [
    someone,
    { ...someone, issuer: 'https://two.test' },
    { ...someone, subject: 'Someone' },
    { ...someone, subject: 'someone ' },
    { issuer: 'https://one.testsome', subject: 'one' },
  ];
  const ids: string[] = [];
  for (const subject of subjects) ids.push(await identify(subject));
  t.is(new Set(ids).size, subjects.length);
  t.is(await countIdentities(), subjects.length);
});

test('a user keeps the id', async (t) => {
  const { db, open } = await startTestDatabase(t);
  const { identify } = createIdentities(db);
  const id = await identify(someone);
  t.is(await identify(someone), id);
  t.is(await createIdentities(await open()).identify(someone), id);
});

test('any subject of 255 characters is stored verbatim', async (t) => {
  const { db } = await startTestDatabase(t);
  const { identify } = createIdentities(db);
  const subjects = ["'); drop table identities; --", '𝄞'.repeat(127), '%', '\\', '"'];
  const ids = await Promise.all(subjects.map((subject) => identify({ ...someone, subject })));
  t.is(new Set(ids).size, subjects.length);
  const { identify: again } = createIdentities(db);
  t.deepEqual(await Promise.all(subjects.map((subject) => again({ ...someone, subject }))), ids);
});
