import test from 'ava';
import { parseSmtpUrl, SmtpUrl } from '../../app/mail/smtp-url.ts';

test('an SMTP URL gives the server, the login, and whether TLS is required', (t) => {
  t.deepEqual(parseSmtpUrl('smtp://mail.example.org'), {
    secure: false,
    host: 'mail.example.org',
    requireTls: false,
    timeoutSeconds: 20,
  });
  t.deepEqual(parseSmtpUrl('smtps://a%40b:p%20w@[::1]:2465?timeoutSeconds=5'), {
    secure: true,
    host: '::1',
    port: 2465,
    auth: { user: 'a@b', pass: 'p w' },
    requireTls: true,
    timeoutSeconds: 5,
  });
});

test('TLS is required if there is a password, unless the URL overrides it', (t) => {
  t.true(parseSmtpUrl('smtp://u:p@host').requireTls);
  t.true(parseSmtpUrl('smtp://host?requireTls=true').requireTls);
  t.false(parseSmtpUrl('smtp://u:p@host?requireTls=false').requireTls);
});

test('an invalid SMTP URL is refused without being repeated in the error', (t) => {
  const wrong = [
    'hunter2',
    'http://u:hunter2@host',
    'smtp://u:hunter2@host:99999',
    'smtp://u:hunter2@ho st',
    'smtp://u:hunter2@host%00x',
    'smtp://u:hunter2@',
    'smtp://hunter2@host',
    'smtp://:hunter2@host',
    'smtp://u:hunter2@host?requireTls=hunter2',
    'smtp://u:hunter2@host?requireTLS=true',
    'smtp://u:hunter2@host?timeoutSeconds=26',
    'smtp://u:hunter2@host?timeoutSeconds=0',
    'smtp://u:hunter2@host?tls.rejectUnauthorized=false',
    'smtp://u:hunter2@host?logger=true',
    'smtp://u:hunter2@host?pool=false',
  ];
  for (const url of wrong) {
    const { error } = SmtpUrl.safeParse(url);
    t.is(error?.issues.length, 1, url);
    t.regex(error?.issues[0]?.message ?? '', /^must be smtp:\/\//);
    t.false(JSON.stringify(error).includes('hunter2'), url);
    t.throws(() => parseSmtpUrl(url));
  }
});
