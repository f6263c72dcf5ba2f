import { open, rename } from 'node:fs/promises';
import path from 'node:path';
import { createTransport } from 'nodemailer';
import type { Log } from '../telemetry/log.ts';
import type { OutboxPayloads } from '../outbox/outbox.ts';

export interface Mailer {
  /** Resolves once the message is durable. The same id again replaces the same message. */
  send(mail: OutboxPayloads['email'], id: string): Promise<void>;
}

interface MailerOptions {
  readonly directory: string;
  readonly from: string;
  readonly log: Log;
}

/** Writes each message as `<id>.eml` into a directory, whole or not at all. */
export function createFileMailer({ directory, from, log }: MailerOptions): Mailer {
  const composer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  return {
    async send(mail, id) {
      const { subject, text } = render(mail);
      const { message } = await composer.sendMail({
        from,
        to: mail.to,
        subject,
        text,
        messageId: `<${id}@probatio>`,
      });
      const file = path.join(directory, `${id}.eml`);
      await writeDurably(file, message as Buffer);
      log.info({ file, template: mail.template }, 'e-mail written');
    },
  };
}

async function writeDurably(file: string, content: Buffer): Promise<void> {
  const draft = await open(`${file}.part`, 'w', 0o600);
  try {
    await draft.writeFile(content);
    await draft.sync();
  } finally {
    await draft.close();
  }
  await rename(`${file}.part`, file);
}

function render({ template, values }: OutboxPayloads['email']): { subject: string; text: string } {
  if (template === 'already-registered') {
    return {
      subject: 'Someone tried to register with your address',
      text: 'Your address already has an account, so nothing was changed. If it was you, log in as usual.\n',
    };
  }
  return {
    subject: 'Confirm your e-mail address',
    text: [
      'Someone, hopefully you, registered with this address.',
      '',
      `Fingerprint: ${values.fingerprint ?? ''}`,
      `Token: ${values.token ?? ''}`,
      '',
      'Give the token to your client only if it shows the same fingerprint.',
      'It is valid for one hour. If this was not you, do nothing.',
      '',
    ].join('\n'),
  };
}
