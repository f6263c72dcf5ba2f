import { randomUUID } from 'node:crypto';
import test from 'ava';
import { accountClosed } from '../../app/mail/templates/account-closed.ts';
import { alreadyRegistered } from '../../app/mail/templates/already-registered.ts';
import { letter, type Letter } from '../../app/mail/templates/letter.ts';
import { validate } from '../../app/mail/templates/email-validation.ts';
import { validateMail } from './sample-mail.ts';

const service = 'vault.example.org';
const validateUrl = 'https://app.example.org/confirm?lang=en';
const mail = { ...validateMail(), expiresAt: '2026-03-01T14:05:59.000Z' };

const letters: Readonly<Record<string, Letter>> = {
  'validate with a link': validate(mail, { service, validateUrl }),
  'validate without a link': validate(validateMail(), { service, validateUrl: undefined }),
  'already-registered': alreadyRegistered(service),
  'account-closed': accountClosed(service),
};

/** Returns what a mail program shows of the HTML, in one line. */
function visibleText(html: string): string {
  const body = html.slice(html.indexOf('<body'));
  const text = body.replace(/<[^>]*>/g, ' ');
  const entities = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' };
  return oneLine(
    Object.entries(entities).reduce((shown, [name, character]) => {
      return shown.replaceAll(name, character);
    }, text),
  );
}

const oneLine = (text: string) => text.replace(/\s+/g, ' ').trim();

for (const [name, { subject, text, html }] of Object.entries(letters)) {
  test(`${name}: text and HTML have the same content and name the service`, (t) => {
    t.is(visibleText(html), oneLine(text));
    t.true(text.includes(service));
    t.true(html.includes(`<title>${subject}</title>`));
  });

  test(`${name}: the HTML loads no resources, runs no scripts and sets no colors`, (t) => {
    t.notRegex(html, /<(img|script|link|style|iframe|object|form|base)\b/i);
    t.notRegex(html, /\b(src|background|bgcolor|color|on\w+)\s*=/i);
    t.notRegex(html, /url\(|@import|[^-]color\s*:/i);
    t.true(html.includes('<meta name="color-scheme" content="light dark">'));
    const urls = [...html.matchAll(/https?:[^"<\s]*/g)].map(([url]) => new URL(url).host);
    t.deepEqual(new Set(urls), new Set(html.includes('href') ? ['app.example.org'] : []));
  });

  test(`${name}: the text has short lines of ASCII`, (t) => {
    t.regex(text, /^[\n\x20-\x7e]+$/);
    const long = text.split('\n').filter((line) => line.length > 76);
    t.true(
      long.every((line) => line.startsWith('https://')),
      long.join('\n'),
    );
  });
}

test('the token and the fingerprint each have a line of their own', (t) => {
  const { text, html } = validate(mail, { service, validateUrl });
  const lines = text.split('\n');
  t.true(lines.includes(`Fingerprint: ${mail.values.fingerprint}`));
  t.true(lines.includes(`Token: ${mail.values.token}`));
  t.regex(html, new RegExp(`<span style="font:bold 32px[^"]*">${mail.values.fingerprint}</span>`));
});

test('the token is in the fragment of the link and nowhere else in the link', (t) => {
  const { html } = validate(mail, { service, validateUrl });
  const link = new URL(/href="([^"]+)"/.exec(html)?.[1] ?? '');
  t.is(link.hash, `#token=${mail.values.token}`);
  t.is(link.href.replace(link.hash, ''), validateUrl);
});

test('without a front end there is no link', (t) => {
  const { text, html } = validate(mail, { service, validateUrl: undefined });
  t.notRegex(text + html, /https?:|href/);
});

test('the e-mail tells until when its token is valid', (t) => {
  t.regex(oneLine(validate(mail, { service, validateUrl }).text), /until 2026-03-01 14:05 UTC/);
});

test('every value is escaped in HTML', (t) => {
  const odd = `<b onclick="x()">&amp;'`;
  const escaped = '&lt;b onclick=&quot;x()&quot;&gt;&amp;amp;&#39;';
  const { html } = letter(odd, [
    { paragraph: odd },
    { link: odd },
    { name: odd, value: odd, size: 'large' },
  ]);
  t.false(html.includes('<b '));
  t.is(html.split(escaped).length - 1, 6);
  t.is(visibleText(html), [odd, odd, `${odd}:`, odd].join(' '));
});

test('a word longer than a line is not broken', (t) => {
  const word = randomUUID().repeat(4);
  const { text } = letter('', [{ paragraph: `a ${word} b` }]);
  t.deepEqual(text.trim().split('\n'), ['a', word, 'b']);
});
