import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Redis } from 'ioredis';
import test, { type ExecutionContext } from 'ava';
import { openDatabase } from '../../app/db/database.ts';
import { until } from '../../app/dev/processes/until.ts';
import { createSmtpMailer } from '../../app/mail/smtp-mailer.ts';
import { connectRedis, duplicateRedis } from '../../app/redis/redis.ts';
import { followSecret } from '../../app/secrets/follow-secret.ts';
import { createCredentials } from '../../app/storage/s3/client.ts';
import { createLog } from '../../app/telemetry/log.ts';
import { createOwnRoles } from '../db/isolation/own-roles.ts';
import { startOwnRedis } from '../support/network/own-redis.ts';
import { startMailServer, user, password } from '../mail/mail-server.ts';
import { messageOptions, validateMail } from '../mail/sample-mail.ts';
import { createCertificate } from '../support/network/certificate.ts';
import { temporaryDirectory } from '../support/processes/processes.ts';

const log = createLog('silent');

/** Returns a secret in a file, and how to replace it. */
async function createSecret(t: ExecutionContext, value: string) {
  const file = path.join(await temporaryDirectory(t), 'secret');
  const replace = (next: string) => writeFile(file, `${next}\n`, { mode: 0o600 });
  await replace(value);
  return { file, replace, read: followSecret({ variable: 'A_SECRET', value, file }) };
}

test('a new password of the database is used by new connections', async (t) => {
  const roles = await createOwnRoles();
  t.teardown(() => roles[Symbol.asyncDispose]());
  const url = await createSecret(t, roles.url(roles.app));
  const db = await openDatabase({ url: url.read, serviceUrl: url.read, poolSize: 1 });
  t.teardown(() => db.close());
  await db.ping();
  const next = randomUUID();
  await roles.sql(
    `alter role ${roles.app} password '${next}'`,
    `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${roles.app}'`,
  );
  await t.throwsAsync(until(() => db.ping().then(() => true), limit('the old password')));
  await url.replace(roles.url(roles.app).replace(':secret@', `:${next}@`));
  await t.notThrowsAsync(until(() => answers(db.ping()), limit('the new password')));
});

test('a new password of Redis is used when a connection is made anew', async (t) => {
  const server = await startOwnRedis(t);
  const withPassword = (value: string) =>
    Object.assign(new URL(server.url), { username: 'vault', password: value }).href;
  const admin = new Redis(server.url);
  t.teardown(() => admin.disconnect());
  const setPassword = (value: string) =>
    admin.call('ACL', 'SETUSER', 'vault', 'on', 'resetpass', `>${value}`, '~*', '&*', '+@all');
  await setPassword('first');
  const url = await createSecret(t, withPassword('first'));
  const redis = connectRedis(url.read, log);
  const copy = duplicateRedis(redis, {});
  copy.on('error', () => undefined);
  t.teardown(() => [redis, copy].forEach((client) => client.disconnect()));
  await Promise.all([redis.ping(), copy.ping()]);

  await setPassword('second');
  await url.replace(withPassword('second'));
  await admin.call('CLIENT', 'KILL', 'USER', 'vault');
  for (const client of [redis, copy]) {
    await t.notThrowsAsync(until(() => answers(client.ping()), limit('the new password')));
  }
});

test('a new password of the mail server is used by the next e-mail', async (t) => {
  const certificate = await createCertificate();
  t.teardown(() => certificate[Symbol.asyncDispose]());
  const { key, cert, file: caFile } = certificate;
  const server = await startMailServer({ key, cert });
  t.teardown(() => server[Symbol.asyncDispose]());
  const withPassword = (value: string) =>
    `smtp://${encodeURIComponent(user)}:${encodeURIComponent(value)}@${server.host}` +
    '?timeoutSeconds=5';
  const url = await createSecret(t, withPassword('an old one'));
  const options = { ...messageOptions, url: url.read, caFile, log };
  const mailer = await createSmtpMailer(options);
  t.teardown(() => mailer.close());
  await t.throwsAsync(mailer.send(validateMail(), randomUUID()));
  await url.replace(withPassword(password));
  await mailer.send(validateMail(), randomUUID());
  await mailer.send(validateMail(), randomUUID());
  t.is(server.deliveries.length, 2);
});

test('new keys of the object store are read again, and keys without files stay', async (t) => {
  const [id, secret] = [await createSecret(t, 'id-1'), await createSecret(t, 'secret-1')];
  const config = {
    region: 'us-east-1',
    bucket: 'vault',
    forcePathStyle: true,
    checksums: 'when_supported',
    accessKeyId: 'id-1',
    secretAccessKey: 'secret-1',
  } as const;
  const fixed = { accessKeyId: 'id-1', secretAccessKey: 'secret-1' };
  t.deepEqual(createCredentials(config), fixed);
  const { accessKeyId: _id, secretAccessKey: _secret, ...without } = config;
  t.is(createCredentials(without), undefined, 'the SDK looks for credentials itself');
  const files = { accessKeyIdFile: id.file, secretAccessKeyFile: secret.file };
  const read = createCredentials({ ...config, ...files }, () => 0);
  if (typeof read !== 'function') throw new TypeError('the keys are not read from files');
  t.like(await read(), fixed);
  await id.replace('id-2');
  await secret.replace('secret-2');
  t.deepEqual(await read(), {
    accessKeyId: 'id-2',
    secretAccessKey: 'secret-2',
    // The SDK asks again five minutes before that.
    expiration: new Date(6 * 60_000),
  });
});

function limit(what: string) {
  return { what, timeoutMs: 60_000 };
}

function answers(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}
