import type { SendMailOptions } from 'nodemailer';
import { z } from 'zod';
import type { Clock } from '../async/clock.ts';
import { PermanentFailure } from '../outbox/permanent-failure.ts';
import { Mail } from '../outbox/mail.ts';
import { Sender } from './sender.ts';
import { accountClosed } from './templates/account-closed.ts';
import { alreadyRegistered } from './templates/already-registered.ts';
import type { Letter } from './templates/letter.ts';
import { validate } from './templates/validate.ts';

export interface MessageOptions {
  /** An address, or a name and an address. */
  readonly from: string;
  /** Names the service by its host. */
  readonly publicUrl: string;
  /** A page of a front end that takes a validation token from its fragment. */
  readonly validateUrl?: string | undefined;
  readonly clock: Clock;
}

type Composer = (mail: Mail, id: string) => SendMailOptions;

/** A plain mailbox, no list, name, comment or quoted part. Those of accounts all are. */
const Recipient = z.email().max(254);

/**
 * Makes messages of mails. Nothing that a user wrote gets into a header, except the address itself.
 * The composer throws PermanentFailure for an expired mail and for an address that is not plain.
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
      throw new PermanentFailure('the recipient is not one plain address');
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

/** Quoted-printable breaks lines that end otherwise at any place, and the token's is to stay whole. */
function withLineEnds(text: string): string {
  return text.replaceAll('\n', '\r\n');
}

export function domainOf({ address }: Sender): string {
  return address.slice(address.lastIndexOf('@') + 1);
}
