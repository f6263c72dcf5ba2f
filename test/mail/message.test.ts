import { randomUUID } from 'node:crypto';
import test from 'ava';
import * as fc from 'fast-check';
import { createTransport } from 'nodemailer';
import { createComposer } from '../../app/mail/message.ts';
import { PermanentFailure } from '../../app/outbox/permanent-failure.ts';
import { parseMessage, valueOf } from './parsed-message.ts';
import { messageOptions, validateMail } from './sample-mail.ts';

const compose = createComposer(messageOptions);
const writer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });

/** Returns the message's headers and recipients, or undefined if the e-mail address is refused. */
async function writeTo(to: string) {
  let message;
  try {
    message = compose(validateMail(to), randomUUID());
  } catch (error) {
    if (error instanceof PermanentFailure) return undefined;
    throw error;
  }
  const { message: raw, envelope } = await writer.sendMail(message);
  if (!Buffer.isBuffer(raw)) throw new Error('the message should be one buffer');
  return { ...parseMessage(raw.toString()), recipients: envelope.to };
}

const headerNames = [
  'from',
  'to',
  'subject',
  'auto-submitted',
  'message-id',
  'date',
  'mime-version',
  'content-type',
].toSorted();

const oddAddresses = [
  '"a\r\nbcc: x"@example.org',
  'a@example.org\r\nbcc: x@example.org',
  'a@example.org\nbcc: x@example.org',
  'a@example.org, x@example.org',
  'a@example.org; x@example.org',
  'Name <a@example.org>',
  '<a@example.org>',
  'a@example.org>\r\nRCPT TO:<x@example.org',
  'a@example.org NOTIFY=NEVER',
  'group: a@example.org, x@example.org;',
  '"a,b"@example.org',
  'a@x@example.org',
  'a@[127.0.0.1]',
  'a\u0000@example.org',
  'ä@example.org',
  'a@exämple.org',
  '@example.org',
  '',
  ' a@example.org',
  `${'a'.repeat(250)}@example.org`,
];

test('an e-mail address that is not plain is refused for good, without being named', async (t) => {
  for (const to of oddAddresses) {
    const error = t.throws(() => compose(validateMail(to), randomUUID()), {
      instanceOf: PermanentFailure,
    });
    t.is(error?.message, 'the recipient is not one plain e-mail address');
  }
});

test('any e-mail address gets a message with our headers and one recipient, or none', async (t) => {
  const local = fc.stringMatching(/^[a-z0-9.+'_-]{1,40}$/);
  const domain = fc.domain();
  const plain = fc.tuple(local, domain).map(([name, host]) => `${name}@${host}`);
  const pieces = fc.constantFrom('\r\n', '\n', 'bcc: ', ', ', '<', '>', '"', '@', 'a@b.org', ' ');
  const odd = fc.array(fc.oneof(pieces, plain, fc.string()), { minLength: 1, maxLength: 5 });
  const address = fc.oneof(
    plain,
    odd.map((parts) => parts.join('')),
  );
  let written = 0;
  await fc.assert(
    fc.asyncProperty(address, async (to) => {
      const message = await writeTo(to);
      if (message === undefined) return;
      written += 1;
      const { headers, recipients } = message;
      t.deepEqual(headers.map(([name]) => name).toSorted(), headerNames);
      const isSame = (other: string) => other.toLowerCase() === to.toLowerCase();
      t.true(isSame(valueOf(headers, 'to')), to);
      t.true(recipients.length === 1 && recipients.every(isSame), to);
    }),
    { numRuns: 500 },
  );
  t.true(written > 50, `${written} written`);
});

test('an e-mail is composed until it expires, and refused for good afterwards', (t) => {
  const expiresAt = '2026-03-01T14:05:00.000Z';
  const mail = { ...validateMail(), expiresAt };
  const at = (time: string) => createComposer({ ...messageOptions, clock: () => new Date(time) });
  t.notThrows(() => at('2026-03-01T14:04:59.999Z')(mail, randomUUID()));
  t.throws(() => at(expiresAt)(mail, randomUUID()), { instanceOf: PermanentFailure });
});

test('an e-mail with a template this release does not know is kept for a retry', (t) => {
  const unknown = JSON.parse(JSON.stringify({ ...validateMail(), template: 'from-the-future' }));
  const error = t.throws(() => compose(unknown, randomUUID()));
  t.false(error instanceof PermanentFailure);
});

test('a sender that is not one e-mail address is refused at once', (t) => {
  for (const wrong of ['', 'Vault', 'a@b.org, c@d.org', 'Vault <>']) {
    t.throws(() => createComposer({ ...messageOptions, from: wrong }), undefined, wrong);
  }
  for (const right of ['a@b.org', 'Vault <a@b.org>', '"Vault, the" <a@b.org>', 'vault@localhost']) {
    t.notThrows(() => createComposer({ ...messageOptions, from: right }), right);
  }
});
