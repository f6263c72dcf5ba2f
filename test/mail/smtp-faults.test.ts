import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { inspect } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import type { SMTPServerOptions } from 'smtp-server';
import { createSmtpMailer } from '../../app/mail/smtp-mailer.ts';
import { PermanentFailure } from '../../app/outbox/permanent-failure.ts';
import { createLog } from '../../app/telemetry/log.ts';
import { createCertificate } from '../support/network/certificate.ts';
import { password, refusal, startMailServer, user } from './mail-server.ts';
import { messageOptions, validateMail } from './sample-mail.ts';

const certificate = await createCertificate();
test.after.always(() => certificate[Symbol.asyncDispose]());
const { key, cert, file: caFile } = certificate;

async function mailerFor(t: ExecutionContext, url: string) {
  const mailer = await createSmtpMailer({
    ...messageOptions,
    url,
    caFile,
    log: createLog('silent'),
  });
  t.teardown(() => mailer.close());
  return mailer;
}

/** Sends an e-mail to a server with these settings and resolves with the error. */
async function failureAt(
  t: ExecutionContext,
  settings: SMTPServerOptions,
  { login = '', parameters = '' } = {},
) {
  const server = await startMailServer({ key, cert, ...settings });
  t.teardown(() => server[Symbol.asyncDispose]());
  const mailer = await mailerFor(t, `smtp://${login}${server.host}${parameters}`);
  return t.throwsAsync(mailer.send(validateMail(), randomUUID()));
}

const refusing = {
  sender: (code: number): SMTPServerOptions => ({
    onMailFrom: (_address, _session, callback) => callback(refusal(code, 'no')),
  }),
  recipient: (code: number): SMTPServerOptions => ({
    onRcptTo: (_address, _session, callback) => callback(refusal(code, 'no')),
  }),
  message: (code: number): SMTPServerOptions => ({
    onData(stream, _session, callback) {
      stream.on('end', () => callback(refusal(code, 'no'))).resume();
    },
  }),
};

for (const code of [550, 551, 553, 554]) {
  test(`a recipient or message refused with ${code} is a permanent failure`, async (t) => {
    const failures = [refusing.recipient(code), refusing.message(code)];
    for (const settings of failures) {
      const error = await failureAt(t, settings);
      t.true(error instanceof PermanentFailure, error?.message);
      t.true(error?.message.includes(`${code}`));
    }
  });
}

test('a temporary refusal, or one of the session or sender, is no permanent failure', async (t) => {
  const failures = [
    refusing.recipient(421),
    refusing.recipient(450),
    refusing.recipient(451),
    refusing.recipient(503),
    refusing.recipient(530),
    refusing.message(452),
    refusing.sender(550),
  ];
  for (const settings of failures) {
    const error = await failureAt(t, settings);
    t.is(error?.name, 'Error', error?.message);
    t.regex(error?.message ?? '', /^the mail server answered [45]\d\d/);
  }
});

test('the error of a refused login has neither the password nor the server’s text', async (t) => {
  const onAuth: SMTPServerOptions['onAuth'] = (login, _session, callback) =>
    callback(refusal(535, `${login.username} has not the password ${login.password}`));
  const login = `${encodeURIComponent(user)}:${encodeURIComponent(password)}@`;
  const error = await failureAt(t, { onAuth }, { login });
  t.is(error?.name, 'Error');
  t.regex(error?.message ?? '', /^the mail server answered 535 .*AUTH PLAIN; EAUTH/);
  t.false(inspect(error, { depth: 9, showHidden: true }).includes(password));
});

test('the error of a refused recipient does not name the recipient', async (t) => {
  const onRcptTo: SMTPServerOptions['onRcptTo'] = ({ address }, _session, callback) =>
    callback(refusal(550, `5.1.1 <${address}> is nobody`));
  const error = await failureAt(t, { onRcptTo });
  t.true(error?.message.includes('550 5.1.1'), error?.message);
  t.notRegex(inspect(error, { depth: 9, showHidden: true }), /@|nobody/);
});

/** Starts a TCP server that handles each connection with the given function. */
async function rawServer(t: ExecutionContext, onConnection: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    onConnection(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `smtp://127.0.0.1:${(server.address() as AddressInfo).port}?timeoutSeconds=1`;
}

// These tests run serially: each must reach its point of failure within seconds.
test.serial('a server that never sends its greeting fails the delivery', async (t) => {
  const mailer = await mailerFor(t, await rawServer(t, () => undefined));
  await t.throwsAsync(mailer.send(validateMail(), randomUUID()), {
    name: 'Error',
    message: /ETIMEDOUT, (?:GREETING|SOCKET)_TIMEOUT/,
  });
});

test.serial('a server that falls silent after the message fails the delivery', async (t) => {
  let ended = 0;
  const onData: SMTPServerOptions['onData'] = (stream) => {
    stream.on('end', () => (ended += 1)).resume();
  };
  const settings: SMTPServerOptions = { onData, disabledCommands: ['STARTTLS'] };
  const error = await failureAt(t, settings, { parameters: '?timeoutSeconds=2' });
  t.is(ended, 1);
  t.is(error?.name, 'Error');
  t.regex(error?.message ?? '', /ETIMEDOUT, SOCKET_TIMEOUT/);
});

test('a server that responds slowly without end fails the delivery', async (t) => {
  const url = await rawServer(t, (socket) => {
    socket.write('220 welcome\r\n');
    const timer = setInterval(() => socket.write('250-and\r\n'), 100);
    socket.on('close', () => clearInterval(timer));
  });
  const mailer = await mailerFor(t, url);
  await t.throwsAsync(mailer.send(validateMail(), randomUUID()), {
    name: 'Error',
    // On a busy machine the greeting may also come too late.
    message: /EABORT|GREETING_TIMEOUT/,
  });
});

test('a server that is down fails the delivery', async (t) => {
  const server = await startMailServer({ key, cert });
  await server.close();
  const mailer = await mailerFor(t, `smtp://${server.host}`);
  await t.throwsAsync(mailer.send(validateMail(), randomUUID()), {
    name: 'Error',
    message: /could not be reached.*ECONNREFUSED/,
  });
});
