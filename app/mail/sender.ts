import addressparser from 'nodemailer/lib/addressparser';
import { z } from 'zod';

/** `no-reply@example.org` or `Name <no-reply@example.org>`: exactly one e-mail address. */
export const Sender = z
  .string()
  .transform((text) => addressparser(text))
  .pipe(
    z.tuple(
      [z.object({ name: z.string(), address: z.email({ pattern: z.regexes.html5Email }) })],
      'must be one e-mail address, or a name and <e-mail address>',
    ),
  )
  .transform(([sender]) => sender);

export type Sender = z.output<typeof Sender>;
