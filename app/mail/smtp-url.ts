import { parseConnectionUrl } from 'nodemailer/lib/shared';
import { z } from 'zod';

/** Timeout of each step of a delivery. Two steps must fit into the lease of an outbox message. */
const StepSeconds = z.int().min(1).max(25).default(20);

const Server = z.strictObject({
  /** Uses TLS from the first byte. */
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
 * Accepts `smtp://user:password@host:port` or `smtps://…`, with the parameters `requireTls` (by
 * default true if there is a password) and `timeoutSeconds`. The value is a secret: errors do not
 * quote it.
 */
export const SmtpUrl = z.string().refine((url) => ServerOfUrl.safeParse(url).success, {
  error:
    'must be smtp://user:password@host:port or smtps://…, with requireTls (true, false) ' +
    'and timeoutSeconds (1 to 25) as the only parameters',
});

interface SmtpServer extends z.output<typeof Server> {
  readonly requireTls: boolean;
}

/** Parses an SmtpUrl; throws for any other text. */
export function parseSmtpUrl(url: string): SmtpServer {
  const server = ServerOfUrl.parse(SmtpUrl.parse(url));
  return { ...server, requireTls: server.requireTls ?? server.auth !== undefined };
}
