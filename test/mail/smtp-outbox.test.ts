import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import type { SMTPServerOptions } from 'smtp-server';
import { until } from '../../app/dev/processes/until.ts';
import type { Mail } from '../../app/outbox/mail.ts';
import { createSmtpMailer } from '../../app/mail/smtp-mailer.ts';
import { messageRow } from '../../app/outbox/outbox.ts';
import { decryptMail, encryptMail } from '../../app/outbox/stored-mail.ts';
import { startOutboxWorker } from '../../app/outbox/worker.ts';
import { createWakeSignal } from '../../app/async/wake-signal.ts';
import { createLog } from '../../app/telemetry/log.ts';
import { emailHandlers } from '../outbox/email-handlers.ts';
import { count, emptyOutbox, hurry, untilEmpty } from '../outbox/empty-outbox.ts';
import { createTestCipher } from '../support/encryption/test-cipher.ts';
import { createCertificate } from '../support/network/certificate.ts';
import { password, refusal, startMailServer, user } from './mail-server.ts';
import { messageOptions, validateMail } from './sample-mail.ts';

const certificate = await createCertificate();
test.after.always(() => certificate[Symbol.asyncDispose]());
const { key, cert, file: caFile } = certificate;

/** Starts an outbox that sends e-mails to a server with these settings. */
async function startMailing(t: ExecutionContext, settings: SMTPServerOptions = {}) {
  const server = await startMailServer({ key, cert, ...settings });
  t.teardown(() => server[Symbol.asyncDispose]());
  const lines: string[] = [];
  const log = createLog('trace', { write: (line) => void lines.push(line) });
  const login = `${encodeURIComponent(user)}:${encodeURIComponent(password)}`;
  const url = `smtp://${login}@${server.host}?timeoutSeconds=2`;
  const mailer = await createSmtpMailer({ ...messageOptions, url, caFile, log });
  t.teardown(() => mailer.close());
  const { db, outbox } = await emptyOutbox(t);
  const cipher = createTestCipher();
  const handlers = emailHandlers((mail, id) =>
    mailer.send(decryptMail(cipher, messageRow(id), mail), id),
  );
  const worker = startOutboxWorker({ db, log, signal: createWakeSignal(), handlers });
  t.teardown(() => worker.stop());
  return {
    server,
    db,
    lines,
    promise(mail: Mail) {
      const id = randomUUID();
      const stored = encryptMail(cipher, messageRow(id), mail);
      return db.asService((tx) => outbox.add(tx, 'email', stored, { id }));
    },
    untilLogged: (words: string, times = 1) =>
      until(() => lines.filter((line) => line.includes(words)).length >= times, {
        what: `the log to say "${words}"`,
        timeoutMs: 60_000,
      }),
  };
}

const retried = 'an outbox message failed and will be retried';
const failed = 'an outbox message failed permanently and is erased';

/** Asserts that no log line has the recipient, the token or the password. */
function assertDiscreet(t: ExecutionContext, lines: readonly string[], mail: Mail) {
  const log = lines.join('');
  const secrets = [mail.to, password, encodeURIComponent(password), ...Object.values(mail.values)];
  t.deepEqual(
    secrets.filter((secret) => log.includes(secret)),
    [],
  );
  t.false(log.includes(Buffer.from(`\0${user}\0${password}`).toString('base64')));
}

test('an e-mail added while the server is down arrives once when it is back', async (t) => {
  const { server, db, lines, promise, untilLogged } = await startMailing(t);
  await server.close();
  const mail = validateMail();
  await promise(mail);
  await untilLogged(retried);
  t.is(await count(db), 1);
  await server.open();
  await hurry(db);
  await untilEmpty(db);
  t.deepEqual(
    server.deliveries.map(({ to }) => to),
    [[mail.to]],
  );
  assertDiscreet(t, lines, mail);
});

test('a greylisted e-mail is retried and arrives once', async (t) => {
  let asked = 0;
  const { server, db, lines, promise, untilLogged } = await startMailing(t, {
    onRcptTo({ address }, _session, callback) {
      asked += 1;
      callback(asked < 3 ? refusal(451, `4.7.1 <${address}> later, please`) : null);
    },
  });
  const mail = validateMail();
  await promise(mail);
  for (const times of [1, 2]) {
    await untilLogged('451 4.7.1', times);
    await hurry(db);
  }
  await untilEmpty(db);
  t.is(asked, 3);
  t.is(server.deliveries.length, 1);
  assertDiscreet(t, lines, mail);
});

test('an e-mail to an unknown recipient is given up with a log line', async (t) => {
  let asked = 0;
  const { server, db, lines, promise } = await startMailing(t, {
    onRcptTo({ address }, _session, callback) {
      asked += 1;
      callback(refusal(550, `5.1.1 <${address}> unknown, not for ${password}`));
    },
  });
  const mail = validateMail();
  await promise(mail);
  await untilEmpty(db);
  t.is(asked, 1);
  t.is(server.deliveries.length, 0);
  const [line, ...others] = lines.filter((text) => text.includes(failed));
  t.regex(line ?? '', /answered 550 5\.1\.1 \(step RCPT TO; EENVELOPE\)/);
  t.deepEqual(others, []);
  assertDiscreet(t, lines, mail);
});

test('an expired e-mail is given up without contacting the server', async (t) => {
  let connections = 0;
  const { db, lines, promise } = await startMailing(t, {
    onConnect(_session, callback) {
      connections += 1;
      callback();
    },
  });
  const mail = { ...validateMail(), expiresAt: new Date(Date.now() - 1).toISOString() };
  await promise(mail);
  await untilEmpty(db);
  t.is(connections, 0);
  t.regex(lines.join(''), /the e-mail expired before it could be sent.*failed permanently/);
  assertDiscreet(t, lines, mail);
});

test('an e-mail is kept while the server refuses the login; the log has no secrets', async (t) => {
  const { server, db, lines, promise, untilLogged } = await startMailing(t, {
    onAuth: (login, _session, callback) =>
      callback(refusal(535, `5.7.8 ${login.username}, not ${login.password}`)),
  });
  const mail = validateMail();
  await promise(mail);
  await untilLogged(retried);
  t.is(await count(db), 1);
  t.is(server.deliveries.length, 0);
  t.regex(lines.join(''), /answered 535 5\.7\.8 \(step AUTH PLAIN; EAUTH\)/);
  assertDiscreet(t, lines, mail);
});

test('an idle connection that the server closes neither loses nor doubles an e-mail', async (t) => {
  const { server, db, promise } = await startMailing(t);
  const mails = [validateMail(), validateMail()] as const;
  await promise(mails[0]);
  await untilEmpty(db);
  await server.close();
  await server.open();
  await promise(mails[1]);
  await until(() => server.deliveries.length === 2, {
    what: 'the second e-mail',
    timeoutMs: 60_000,
  });
  await untilEmpty(db);
  t.deepEqual(
    server.deliveries.map(({ to }) => to),
    mails.map(({ to }) => [to]),
  );
});
