import { createFileMailer } from './file-mailer.ts';
import type { Mailer } from './mailer.ts';
import type { MessageOptions } from './message.ts';
import { createSmtpMailer } from './smtp-mailer.ts';
import type { Secret } from '../secrets/secret.ts';
import type { Log } from '../telemetry/log.ts';

export type MailConfig = Pick<MessageOptions, 'from' | 'validateUrl'> &
  (
    | { readonly driver: 'file'; readonly directory: string }
    | {
        readonly driver: 'smtp';
        readonly url: Secret;
        readonly caFile: string | undefined;
      }
  );

type MailerOptions = MailConfig & MessageOptions & { readonly log: Log };

export async function createMailer(options: MailerOptions): Promise<Mailer> {
  return options.driver === 'smtp' ? createSmtpMailer(options) : createFileMailer(options);
}
