import { productionSettings } from '../../support/vault/production.ts';
import { secret, type Files } from './files.ts';
import { mfaCases } from './mfa-cases.ts';
import type { WrongSettings } from './wrong-settings.ts';

/** The settings of an app that starts. */
export const rightApp = {
  ...productionSettings,
  PORT: '8080',
  HTTP_INTERNAL_PORT: '8081',
  DATABASE_URL: `postgresql://app:${secret}@db/vault`,
  DATABASE_SERVICE_URL: `postgresql://service:${secret}@db/vault`,
  REDIS_URL: `rediss://:${secret}@cache`,
  STORAGE_DIRECTORY: '/objects',
  SIGNER_SOCKET_PATH: '/run/signer.sock',
  MAIL_URL: `smtps://vault:${secret}@mail.example`,
};

const missing = 'names a file that does not exist; create it or correct the path';
const directory = 'names a directory; name a file';
const database =
  'is not set; set it to: postgresql:// URL with the name of a database; or name a file of it in ';

/** Returns wrong settings of the app, and what a stranger is told about each. */
export function appCases(files: Files): readonly WrongSettings[] {
  return [
    {
      what: 'a database is missing',
      env: { DATABASE_URL: '' },
      problems: [`DATABASE_URL: ${database}DATABASE_URL_FILE`],
    },
    {
      what: 'the issuer is missing',
      env: { HTTP_PUBLIC_URL: '' },
      problems: [
        'HTTP_PUBLIC_URL: is not set; set it to: https URL; http outside of production, and for ' +
          'localhost, 127.0.0.1 or [::1] (production requires it)',
      ],
    },
    ...[
      'http://vault.example',
      'http://127.0.0.2:8080',
      'HTTP://localhost.vault.example',
      'http://127.0.0.1.vault.example:8080',
    ].map((url) => ({
      what: `the issuer ${url} has no TLS`,
      env: { HTTP_PUBLIC_URL: url },
      problems: [
        'HTTP_PUBLIC_URL: must begin with https:// in production, except for localhost, ' +
          '127.0.0.1 or [::1]; put TLS in front of the app',
      ],
    })),
    {
      what: 'the issuer has a query',
      env: { HTTP_PUBLIC_URL: `https://vault.example/?key=${secret}` },
      problems: ['HTTP_PUBLIC_URL: has a user, a query or a fragment; leave them out'],
    },
    ...mfaCases,
    {
      what: 'the sender is missing',
      env: { MAIL_FROM: '' },
      problems: [
        'MAIL_FROM: is not set; set it to: an e-mail address, or a name and <e-mail address> ' +
          '(production requires it)',
      ],
    },
    {
      what: 'the sender cannot exist',
      env: { MAIL_FROM: 'Probatio <no-reply@probatio.invalid>' },
      problems: [
        'MAIL_FROM: is an address of .invalid, which cannot exist; set it to one of yours',
      ],
    },
    {
      what: 'the sender is no address',
      env: { MAIL_FROM: 'the vault' },
      problems: [
        'MAIL_FROM: is neither an e-mail address nor a name and <e-mail address>; set it to one ' +
          'of them',
      ],
    },
    {
      what: 'the listeners are missing',
      env: { HOST: '', PORT: '', HTTP_INTERNAL_HOST: '', HTTP_INTERNAL_PORT: '' },
      problems: [
        'HOST: is not set; set it to: IP address or host name (production requires it)',
        'PORT: is not set; set it to: an integer, 0 to 65535 (production requires it)',
        'HTTP_INTERNAL_HOST: is not set; set it to: IP address or host name (production ' +
          'requires it)',
        'HTTP_INTERNAL_PORT: is not set; set it to: an integer, 0 to 65535 (production ' +
          'requires it)',
      ],
    },
    {
      what: 'both listeners have one port',
      env: { HTTP_INTERNAL_PORT: '8080' },
      problems: ['HTTP_INTERNAL_PORT: is the port of the public listener too; choose another'],
    },
    {
      what: 'the metrics have the port of the API',
      env: { METRICS_PORT: '8080' },
      problems: ['METRICS_PORT: is the port of another listener too; choose another'],
    },
    {
      what: 'the metrics have the port of the internal routes',
      env: { METRICS_HOST: '0.0.0.0', METRICS_PORT: '8081' },
      problems: ['METRICS_PORT: is the port of another listener too; choose another'],
    },
    {
      what: 'a port is no number',
      env: { PORT: '80a' },
      problems: ['PORT: is not valid; set it to: an integer, 0 to 65535'],
    },
    {
      what: 'a number is out of range',
      env: { DATABASE_POOL_SIZE: '0' },
      problems: ['DATABASE_POOL_SIZE: is not valid; set it to: 1 or more connections'],
    },
    {
      what: 'a choice does not exist',
      env: { KEYS_RAW_FORM: 'forbid' },
      problems: ['KEYS_RAW_FORM: is not valid; set it to: allow, refuse'],
    },
    {
      what: 'the kind of installation does not exist',
      env: { NODE_ENV: 'prod' },
      problems: ['NODE_ENV: is not valid; set it to: production, development, test'],
    },
    {
      what: 'a setting is misspelt',
      env: { DATABASE_URL: '', DATABASE_ULR: rightApp.DATABASE_URL },
      problems: ['DATABASE_ULR: is no setting; did you mean DATABASE_URL?'],
    },
    {
      what: 'a setting is misspelt beside the right one',
      env: { MAIL_FORM: secret },
      problems: ['MAIL_FORM: is no setting; did you mean MAIL_FROM?'],
    },
    {
      what: 'the variable of a file is misspelt',
      env: { REDIS_URL: '', REDIS_URL_FIEL: files.plain },
      problems: ['REDIS_URL_FIEL: is no setting; did you mean REDIS_URL_FILE?'],
    },
    {
      what: 'a URL has another scheme',
      env: { DATABASE_URL: `mysql://app:${secret}@db/vault` },
      problems: [
        'DATABASE_URL: is not a postgresql:// URL; set it to ' +
          'postgresql://user:password@host:port/database',
      ],
    },
    {
      what: 'a URL names no database',
      env: { DATABASE_URL: `postgresql://app:${secret}@db` },
      problems: ['DATABASE_URL: names no database; add its name as the path'],
    },
    {
      what: 'a URL has a mode of TLS that does not say what is verified',
      env: { DATABASE_URL: `${rightApp.DATABASE_URL}?sslmode=require` },
      problems: [
        'DATABASE_URL: has another sslmode than verify-full, no-verify, disable; set it to one ' +
          'of them',
      ],
    },
    {
      what: 'a URL has parameters that undo settings of the app',
      env: { DATABASE_URL: `${rightApp.DATABASE_URL}?options=-c%20statement_timeout%3D0` },
      problems: [
        'DATABASE_URL: has a parameter other than application_name, host, sslmode, sslcert, ' +
          'sslkey, sslrootcert; remove it',
      ],
    },
    {
      what: 'a URL names certificates that do not exist',
      env: { DATABASE_URL: `${rightApp.DATABASE_URL}?sslrootcert=${files.missing}` },
      problems: [`DATABASE_URL: has a parameter sslrootcert that ${missing}`],
    },
    {
      what: 'Redis is reached by HTTP',
      env: { REDIS_URL: `http://:${secret}@cache` },
      problems: ['REDIS_URL: is not valid; set it to: redis:// URL, or rediss:// for TLS'],
    },
    {
      what: 'a secret is given twice',
      env: { REDIS_URL_FILE: files.plain },
      problems: ['REDIS_URL: is set beside REDIS_URL_FILE; set only one of them'],
    },
    ...fileCases(files),
    {
      what: 'the value in the file of a secret is wrong',
      env: { DATABASE_SERVICE_URL: '', DATABASE_SERVICE_URL_FILE: files.wrongUrl },
      problems: [
        'DATABASE_SERVICE_URL_FILE: the value in the file is not a postgresql:// URL; set it to ' +
          'postgresql://user:password@host:port/database',
      ],
    },
    {
      what: 'files of settings are missing, a directory or no JSON',
      env: {
        PLANS_FILE: files.missing,
        SYNC_RULES_FILE: files.directory,
        AUTH_ISSUERS_FILE: files.broken,
        INTERNAL_API_KEYS_FILE: files.directory,
        MAIL_CA_FILE: files.plain,
      },
      problems: [
        `PLANS_FILE: ${missing}`,
        `SYNC_RULES_FILE: ${directory}`,
        'AUTH_ISSUERS_FILE: names a file that is not JSON; correct its content',
        `INTERNAL_API_KEYS_FILE: ${directory}`,
        'MAIL_CA_FILE: names a file without a PEM certificate; name one that has some',
      ],
    },
    {
      what: 'e-mails go nowhere',
      env: { MAIL_URL: '' },
      problems: ['MAIL_URL: is not set, and neither is MAIL_DIRECTORY; set one of them'],
    },
    {
      what: 'e-mails go to two places',
      env: { MAIL_DIRECTORY: files.directory },
      problems: ['MAIL_URL: is set beside MAIL_DIRECTORY; set only one of them'],
    },
    {
      what: 'e-mails go into a file',
      env: { MAIL_URL: '', MAIL_DIRECTORY: files.plain },
      problems: ['MAIL_DIRECTORY: names something that is no directory; name a directory'],
    },
    {
      what: 'the driver lacks its bucket',
      env: { STORAGE_DRIVER: 's3' },
      problems: [
        'STORAGE_BUCKET: is not set; set it to the name of the bucket (STORAGE_DRIVER is s3)',
      ],
    },
    {
      what: 'the driver is forgotten',
      env: { STORAGE_DIRECTORY: '', STORAGE_BUCKET: 'vault' },
      problems: ['STORAGE_DIRECTORY: is not set; set it, or STORAGE_DRIVER=s3 for an S3 server'],
    },
    {
      what: 'half of the credentials is missing',
      env: { STORAGE_DRIVER: 's3', STORAGE_BUCKET: 'vault', STORAGE_SECRET_ACCESS_KEY: secret },
      problems: [
        'STORAGE_ACCESS_KEY_ID: is not set, but STORAGE_SECRET_ACCESS_KEY is; set both or neither',
      ],
    },
    {
      what: 'settings of development are left over',
      env: { KEYS_ALLOW_ANONYMOUS_IN_DEVELOPMENT: 'true', MAINTENANCE_GARBAGE_GRACE_HOURS: '0' },
      problems: [
        'KEYS_ALLOW_ANONYMOUS_IN_DEVELOPMENT: must not be true outside of development; remove ' +
          'it, or set it to false',
        'MAINTENANCE_GARBAGE_GRACE_HOURS: must not be 0 in production; set it to 1 or more',
      ],
    },
    {
      what: 'a limit is no rate',
      env: { LIMITS_WRITE_USER: '5 per hour' },
      problems: ['LIMITS_WRITE_USER: must be off, or a rate such as 5/1h of at most 24 days'],
    },
    {
      what: 'proxies are host names',
      env: { HTTP_TRUSTED_PROXIES: '10.0.0.0/8,ingress' },
      problems: [
        'HTTP_TRUSTED_PROXIES: is not valid; set it to: networks in CIDR notation, separated by ' +
          'commas',
      ],
    },
  ];
}

/** Returns the faults of a file that holds a secret. */
function fileCases(files: Files): readonly WrongSettings[] {
  const faults: readonly (readonly [what: string, file: string, problem: string])[] = [
    ['missing', files.missing, missing],
    ['below a file', files.belowFile, missing],
    ['a directory', files.directory, directory],
    ['a device', files.device, 'names something that is no regular file; name a file'],
    ['unreadable', files.loop, 'names a file that cannot be read (ELOOP); correct the path'],
    ['empty', files.empty, 'names an empty file; write the secret into it'],
    ['without a text', files.onlyLines, 'names an empty file; write the secret into it'],
    ['of two lines', files.twoLines, 'names a file of several lines; leave the secret alone in it'],
    ['large', files.large, 'names a file over 64 KiB; name the file of the secret'],
    [
      'open to all',
      files.open,
      'names a file that every user may write; take that right away (chmod o-w)',
    ],
  ];
  return faults.map(([what, file, problem]) => ({
    what: `the file of a secret is ${what}`,
    env: { MAIL_URL: '', MAIL_URL_FILE: file },
    problems: [`MAIL_URL_FILE: ${problem}`],
  }));
}
