import type { SendMailOptions } from 'nodemailer';
import { z } from 'zod';
import type { Clock } from '../async/clock.ts';
import { PermanentFailure } from '../outbox/permanent-failure.ts';
import { Mail } from '../outbox/mail.ts';
import { Sender } from './sender.ts';
import { accountClosed } from './templates/account-closed.ts';
import { alreadyRegistered } from './templates/already-registered.ts';
import type { Letter } from './templates/letter.ts';
import { validate } from './templates/email-validation.ts';

export interface MessageOptions {
  /** The sender: an e-mail address, or a name and an e-mail address. */
  readonly from: string;
  /** Public URL of the service; messages name the service by the host of this URL. */
  readonly publicUrl: string;
  /** URL of a front-end page that reads the validation token from the fragment. */
  readonly validateUrl?: string | undefined;
  readonly clock: Clock;
}

type Composer = (mail: Mail, id: string) => SendMailOptions;

/**
 * A single plain e-mail address, without name, comment or quoted part. Accounts have only plain
 * e-mail addresses.
 */
const Recipient = z.email().max(254);

/**
 * Creates a function that composes messages. The recipient's e-mail address is the only text of a
 * user in the headers of a message. The function throws PermanentFailure for an expired mail and
 * for an e-mail address that is not plain.
 */
export function createComposer(options: MessageOptions): Composer {
  const { publicUrl, validateUrl, clock } = options;
  const sender = Sender.parse(options.from);
  const domain = domainOf(sender);
  const service = new URL(publicUrl).host;

  function render(mail: Mail): Letter {
    if (mail.template === 'validate') return validate(mail, { service, validateUrl });
    return mail.template === 'account-closed' ? accountClosed(service) : alreadyRegistered(service);
  }

  return (payload, id) => {
    const mail = Mail.parse(payload);
    if (new Date(mail.expiresAt) <= clock()) {
      throw new PermanentFailure('the e-mail expired before it could be sent');
    }
    if (!Recipient.safeParse(mail.to).success) {
      throw new PermanentFailure('the recipient is not one plain e-mail address');
    }
    const { subject, text, html } = render(mail);
    return {
      from: sender,
      to: { name: '', address: mail.to },
      envelope: { from: sender.address, to: [mail.to] },
      messageId: `<${id}@${domain}>`,
      headers: { 'Auto-Submitted': 'auto-generated' },
      textEncoding: 'quoted-printable',
      subject,
      text: withLineEnds(text),
      html: withLineEnds(html),
    };
  };
}

/** Ends lines with CRLF: quoted-printable may break other lines anywhere, even within the token. */
function withLineEnds(text: string): string {
  return text.replaceAll('\n', '\r\n');
}

export function domainOf({ address }: Sender): string {
  return address.slice(address.lastIndexOf('@') + 1);
}
