import { z } from 'zod';
import type { Variables } from '../../../signer/protocol/process/environment.ts';
import { Sender } from '../../mail/sender.ts';
import { SmtpUrl } from '../../mail/smtp-url.ts';
import { DirectoryPath, PemPath, Url } from '../definition/forms.ts';
import { findMissing, isProduction } from '../definition/production.ts';
import { secretSetting, setting, type ValuesOf } from '../definition/setting.ts';

const from = setting(
  'MAIL_FROM',
  z
    .string()
    .refine(
      (text) => Sender.safeParse(text).success,
      'is neither an e-mail address nor a name and <e-mail address>; set it to one of them',
    )
    .default('Probatio <no-reply@probatio.invalid>'),
  {
    form: 'an e-mail address, or a name and `<e-mail address>`',
    whenUnset: 'required in production, otherwise `Probatio <no-reply@probatio.invalid>`',
    description: 'The sender of all e-mails.',
  },
);

/** Settings of e-mails, which go to a mail server or into a directory. */
export const mailSettings = {
  title: 'E-mail',
  introduction: 'Set either `MAIL_URL` or `MAIL_DIRECTORY`.',
  settings: {
    directory: setting('MAIL_DIRECTORY', DirectoryPath.optional(), {
      form: 'path of a directory',
      whenUnset: 'required without `MAIL_URL`',
      description:
        'Writes e-mails into this directory as files, in place of sending them. For development: ' +
        'whoever can read the files can validate the accounts.',
    }),
    url: secretSetting('MAIL_URL', SmtpUrl.optional(), {
      form: '`smtp://user:password@host:port` or `smtps://…`',
      whenUnset: 'required without `MAIL_DIRECTORY`',
      description:
        'The mail server. `smtps` uses TLS from the first byte; `smtp` changes to TLS if the ' +
        'server offers it. Two parameters are accepted: `requireTls` (`true` or `false`; by ' +
        'default `true` if the URL has a password) refuses to continue without TLS, and ' +
        '`timeoutSeconds` (1 to 25, default 20) limits each step of a delivery. ' +
        '`requireTls=false` weakens security: an attacker on the way can then read the password ' +
        'and the e-mails. The URL is a secret.',
      rereads: 'before each e-mail',
    }),
    caFile: setting('MAIL_CA_FILE', PemPath.optional(), {
      form: 'path of a PEM file',
      whenUnset: "Node's own authorities",
      description:
        'The certificate authorities that may vouch for the mail server, instead of the default.',
    }),
    validateUrl: setting(
      'MAIL_VALIDATE_URL',
      Url.refine((url) => !url.includes('#'), 'must have no fragment').optional(),
      {
        form: '`http` or `https` URL without a fragment',
        whenUnset: 'the e-mail shows the token',
        description:
          'A page of yours that validates new accounts. The e-mail links to it with the ' +
          'validation token in the fragment: `#token=…`.',
      },
    ),
    from,
  },
  findConflicts: findMailProblems,
};

/** Returns where e-mails go: to an SMTP server, or into files. */
export function toMailConfig(values: ValuesOf<typeof mailSettings>) {
  const { from, validateUrl, url, urlFile, caFile, directory = '' } = values;
  return url === undefined
    ? { from, validateUrl, driver: 'file' as const, directory }
    : { from, validateUrl, driver: 'smtp' as const, url, urlFile, caFile };
}

function findMailProblems(variables: Variables): readonly string[] {
  return [
    ...findMissing(variables, [from]),
    ...findInvalidSender(variables),
    ...findTransportConflicts(variables),
  ];
}

/** Refuses a sender to whom nobody can reply, and whom mail servers therefore refuse. */
function findInvalidSender(variables: Variables): readonly string[] {
  const { address = '' } = Sender.safeParse(variables[from.variable]).data ?? {};
  return isProduction(variables) && address.toLowerCase().endsWith('.invalid')
    ? ['MAIL_FROM: is an address of .invalid, which cannot exist; set it to one of yours']
    : [];
}

function findTransportConflicts(variables: Variables): readonly string[] {
  const { MAIL_URL: url, MAIL_DIRECTORY: directory } = variables;
  if (url === undefined && directory === undefined) {
    return ['MAIL_URL: is not set, and neither is MAIL_DIRECTORY; set one of them'];
  }
  return url !== undefined && directory !== undefined
    ? ['MAIL_URL: is set beside MAIL_DIRECTORY; set only one of them']
    : [];
}
