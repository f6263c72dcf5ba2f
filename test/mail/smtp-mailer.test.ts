import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import type { SMTPServerOptions } from 'smtp-server';
import { until } from '../../app/dev/processes/until.ts';
import { createSmtpMailer } from '../../app/mail/smtp-mailer.ts';
import { createLog } from '../../app/telemetry/log.ts';
import { createCertificate } from '../support/network/certificate.ts';
import { password, startMailServer, user } from './mail-server.ts';
import { parseMessage, valueOf } from './parsed-message.ts';
import { messageOptions, validateMail } from './sample-mail.ts';

const certificate = await createCertificate();
test.after.always(() => certificate[Symbol.asyncDispose]());

const { key, cert, file: caFile } = certificate;
const login = `${encodeURIComponent(user)}:${encodeURIComponent(password)}@`;
const options = {
  ...messageOptions,
  log: createLog('silent'),
};

async function serverFor(t: ExecutionContext, settings: SMTPServerOptions = { key, cert }) {
  const server = await startMailServer(settings);
  t.teardown(() => server[Symbol.asyncDispose]());
  return server;
}

async function mailerFor(
  t: ExecutionContext,
  url: string,
  settings: { readonly caFile?: string } = {},
) {
  const mailer = await createSmtpMailer({ ...options, ...settings, url });
  t.teardown(() => mailer.close());
  return mailer;
}

test('an e-mail is delivered after STARTTLS and a login, to its recipient alone', async (t) => {
  const server = await serverFor(t);
  const mailer = await mailerFor(t, `smtp://${login}${server.host}`, { caFile });
  const [mail, id] = [validateMail(), randomUUID()];
  await mailer.send(mail, id);
  t.is(server.deliveries.length, 1, 'the server accepts the e-mail before send resolves');
  const [delivery] = server.deliveries;
  t.like(delivery, {
    from: 'no-reply@vault.example.org',
    to: [mail.to],
    isEncrypted: true,
    user,
    client: 'vault.example.org',
  });
  const { headers, text, html } = parseMessage(delivery?.raw ?? '');
  t.is(valueOf(headers, 'from'), 'The Vault <no-reply@vault.example.org>');
  t.is(valueOf(headers, 'to'), mail.to);
  t.is(valueOf(headers, 'auto-submitted'), 'auto-generated');
  t.is(valueOf(headers, 'message-id'), `<${id}@vault.example.org>`);
  for (const part of [text, html]) t.true(part.includes(mail.values.token));
});

test('smtps uses TLS from the first byte', async (t) => {
  const server = await serverFor(t, { key, cert, secure: true });
  const mailer = await mailerFor(t, `smtps://${login}${server.host}`, { caFile });
  await mailer.send(validateMail(), randomUUID());
  t.like(server.deliveries[0], { isEncrypted: true, user });
});

test('an e-mail sent again under its id has the same Message-ID', async (t) => {
  const server = await serverFor(t);
  const mailer = await mailerFor(t, `smtp://${login}${server.host}`, { caFile });
  const [mail, id] = [validateMail(), randomUUID()];
  await mailer.send(mail, id);
  await mailer.send(mail, id);
  const ids = server.deliveries.map(({ raw }) => valueOf(parseMessage(raw).headers, 'message-id'));
  t.is(ids.length, 2);
  t.is(ids[0], ids[1]);
});

test('many concurrent e-mails arrive exactly once each', async (t) => {
  const server = await serverFor(t);
  const mailer = await mailerFor(t, `smtp://${login}${server.host}`, { caFile });
  const mails = Array.from({ length: 30 }, () => validateMail());
  await Promise.all(mails.map((mail) => mailer.send(mail, randomUUID())));
  const arrived = server.deliveries.flatMap(({ to }) => to);
  t.deepEqual(arrived.toSorted(), mails.map(({ to }) => to).toSorted());
});

test('a server with an untrusted certificate gets neither login nor e-mail', async (t) => {
  const other = await createCertificate();
  t.teardown(() => other[Symbol.asyncDispose]());
  for (const secure of [true, false]) {
    let logins = 0;
    const onAuth: SMTPServerOptions['onAuth'] = (_login, _session, callback) => {
      logins += 1;
      callback(null, { user });
    };
    const server = await serverFor(t, { key, cert, secure, onAuth });
    const url = `${secure ? 'smtps' : 'smtp'}://${login}${server.host}`;
    for (const trust of [{}, { caFile: other.file }]) {
      const mailer = await mailerFor(t, url, trust);
      await t.throwsAsync(mailer.send(validateMail(), randomUUID()), {
        name: 'Error',
        message: /could not be reached.*DEPTH_ZERO_SELF_SIGNED_CERT/,
      });
    }
    t.is(logins, 0);
    t.is(server.deliveries.length, 0);
  }
});

test('if TLS is required, a server without STARTTLS gets neither login nor e-mail', async (t) => {
  let logins = 0;
  const server = await serverFor(t, {
    key,
    cert,
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth(_login, _session, callback) {
      logins += 1;
      callback(null, { user });
    },
  });
  const withPassword = await mailerFor(t, `smtp://${login}${server.host}`);
  await t.throwsAsync(withPassword.send(validateMail(), randomUUID()), { message: /STARTTLS/ });
  const required = await mailerFor(t, `smtp://${server.host}?requireTls=true`);
  await t.throwsAsync(required.send(validateMail(), randomUUID()), { message: /STARTTLS/ });
  t.is(logins, 0);
  t.is(server.deliveries.length, 0);

  const relay = await mailerFor(t, `smtp://${server.host}`);
  await relay.send(validateMail(), randomUUID());
  t.like(server.deliveries, { length: 1, 0: { isEncrypted: false, user: undefined } });
  const allowed = await mailerFor(t, `smtp://${login}${server.host}?requireTls=false`);
  await allowed.send(validateMail(), randomUUID());
  t.is(logins, 1);
});

test('a closed mailer closes its idle connections and sends no more', async (t) => {
  let open = 0;
  const server = await serverFor(t, {
    key,
    cert,
    onConnect(_session, callback) {
      open += 1;
      callback();
    },
    onClose(_session, callback) {
      open -= 1;
      callback();
    },
  });
  const mailer = await mailerFor(t, `smtp://${server.host}`, { caFile });
  await mailer.send(validateMail(), randomUUID());
  t.is(open, 1);
  mailer.close();
  await until(() => open === 0, { what: 'the connection to end', timeoutMs: 60_000 });
  await t.throwsAsync(mailer.send(validateMail(), randomUUID()));
});
