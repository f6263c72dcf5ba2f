import { parseConnectionUrl } from 'nodemailer/lib/shared';
import { z } from 'zod';

/** Each step of a delivery may take this long. Two of them fit into the lease of an outbox message. */
const StepSeconds = z.int().min(1).max(25).default(20);

const Server = z.strictObject({
  /** TLS from the first byte. */
  secure: z.boolean(),
  host: z.string().min(1),
  port: z.int().min(1).max(65_535).optional(),
  auth: z.strictObject({ user: z.string().min(1), pass: z.string().min(1) }).optional(),
  requireTls: z.boolean().optional(),
  timeoutSeconds: StepSeconds,
});

const ServerOfUrl = z
  .url({ protocol: /^smtps?$/ })
  .transform((url, context) => {
    try {
      return parseConnectionUrl(url);
    } catch {
      context.addIssue({ code: 'custom', message: 'is not a URL' });
      return z.NEVER;
    }
  })
  .pipe(Server);

/**
 * `smtp://user:password@host:port` or `smtps://…`. Of parameters it takes `requireTls`, true where
 * there is a password unless told, and `timeoutSeconds`. The value is a secret: no problem repeats it.
 */
export const SmtpUrl = z.string().refine((url) => ServerOfUrl.safeParse(url).success, {
  error:
    'must be smtp://user:password@host:port or smtps://…, with requireTls (true, false) ' +
    'and timeoutSeconds (1 to 25) as the only parameters',
});

interface SmtpServer extends z.output<typeof Server> {
  readonly requireTls: boolean;
}

/** Throws for what is no SmtpUrl. */
export function parseSmtpUrl(url: string): SmtpServer {
  const server = ServerOfUrl.parse(SmtpUrl.parse(url));
  return { ...server, requireTls: server.requireTls ?? server.auth !== undefined };
}
