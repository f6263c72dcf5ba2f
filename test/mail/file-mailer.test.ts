import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { createFileMailer } from '../../app/mail/file-mailer.ts';
import { createLog } from '../../app/telemetry/log.ts';
import { parseMessage, valueOf } from './parsed-message.ts';
import { messageOptions, validateMail } from './sample-mail.ts';

async function directoryFor(t: ExecutionContext) {
  const directory = await mkdtemp(path.join(tmpdir(), 'probatio-mail-'));
  t.teardown(() => rm(directory, { recursive: true }));
  return directory;
}

const options = {
  ...messageOptions,
  // Longer than a line of a message may be, so that the text part is sent encoded.
  validateUrl: `https://app.example.org/${'confirm/'.repeat(10)}`,
};

test('a message is stored in a file named by its id, with a text and an HTML part', async (t) => {
  const directory = await directoryFor(t);
  const mailer = createFileMailer({ ...options, directory, log: createLog('silent') });
  const [mail, id] = [validateMail(), randomUUID()];
  await mailer.send(mail, id);
  t.deepEqual(await readdir(directory), [`${id}.eml`]);
  const raw = await readFile(path.join(directory, `${id}.eml`), 'utf8');
  const { headers, text, html } = parseMessage(raw);
  t.is(valueOf(headers, 'to'), mail.to);
  t.is(valueOf(headers, 'message-id'), `<${id}@vault.example.org>`);
  const link = `${options.validateUrl}#token=${mail.values.token}`;
  t.true(text.includes(`\r\n${link}\r\n`));
  t.true(html.includes(`<a href="${link}"`));
});

test('the lines of token and fingerprint are readable without decoding the message', async (t) => {
  for (const validateUrl of [undefined, options.validateUrl]) {
    const directory = await directoryFor(t);
    const log = createLog('silent');
    const mailer = createFileMailer({ ...options, validateUrl, directory, log });
    const mail = validateMail();
    await mailer.send(mail, 'a');
    const raw = await readFile(path.join(directory, 'a.eml'), 'utf8');
    t.is(/^Token: ([0-9a-f-]{36})\r?$/m.exec(raw)?.[1], mail.values.token);
    t.is(/^Fingerprint: ([0-9a-f]{8})\r?$/m.exec(raw)?.[1], mail.values.fingerprint);
    const encoding = validateUrl === undefined ? '7bit' : 'quoted-printable';
    t.regex(raw, new RegExp(`text/plain; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}`));
  }
});

test('a message with the id of an earlier one replaces it', async (t) => {
  const directory = await directoryFor(t);
  const mailer = createFileMailer({ ...options, directory, log: createLog('silent') });
  const [first, second] = [validateMail(), validateMail()];
  await mailer.send(first, 'a');
  await mailer.send(second, 'a');
  t.deepEqual(await readdir(directory), ['a.eml']);
  const raw = await readFile(path.join(directory, 'a.eml'), 'utf8');
  t.true(raw.includes(second.values.token) && !raw.includes(first.values.token));
});

test('the log names the file and nothing of its content', async (t) => {
  const directory = await directoryFor(t);
  const lines: string[] = [];
  const log = createLog('trace', { write: (line) => void lines.push(line) });
  const mail = validateMail();
  await createFileMailer({ ...options, directory, log }).send(mail, 'a');
  t.is(lines.length, 1);
  t.true(lines[0]?.includes('a.eml'));
  for (const secret of [mail.to, mail.values.token]) t.false(lines[0]?.includes(secret));
});
