import { open, rename } from 'node:fs/promises';
import path from 'node:path';
import { createTransport } from 'nodemailer';
import type { Log } from '../telemetry/log.ts';
import type { Mailer } from './mailer.ts';
import { createComposer, type MessageOptions } from './message.ts';

interface FileMailerOptions extends MessageOptions {
  readonly directory: string;
  readonly log: Log;
}

/** Creates a mailer that writes each message atomically, as `<id>.eml` in a directory. */
export function createFileMailer({ directory, log, ...options }: FileMailerOptions): Mailer {
  const compose = createComposer(options);
  const writer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  return {
    async send(mail, id) {
      const { message } = await writer.sendMail(compose(mail, id));
      const file = path.join(directory, `${id}.eml`);
      await writeDurably(file, message as Buffer);
      log.info({ file, template: mail.template }, 'e-mail written');
    },
    close: () => undefined,
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
