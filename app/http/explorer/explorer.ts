import type { Context, Next } from 'koa';
import { z } from 'zod';
import type { JsonBodies } from '../bodies/json-body.ts';
import { parseInput } from '../bodies/validation.ts';
import { clientOf } from '../requests/client-of.ts';
import { requestInfo } from '../requests/request-context.ts';
import { createPageFiles } from './page-files.ts';

/** The parts of a validation e-mail that the page shows. */
interface ValidationMail {
  readonly token: string;
  readonly fingerprint: string;
}

interface ExplorerOptions {
  readonly openApi: object;
  readonly jsonBodies: JsonBodies;
  /** Finds the newest validation e-mail to an e-mail address. Missing if e-mails are no files. */
  readonly findMail?: ((email: string) => Promise<ValidationMail | undefined>) | undefined;
}

const root = '/api/docs';
const mailPath = `${root}/validation-mail`;

const MailRequest = z.strictObject({ email: z.string().max(254) });

const policy = [
  "default-src 'none'",
  // The page derives keys of passwords with Argon2, which runs in WebAssembly.
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * Serves the interactive API explorer at /api/docs. Mounted in development only, because whoever
 * reaches it can read validation e-mails that are written as files.
 */
export function explorer({ openApi, jsonBodies, findMail }: ExplorerOptions) {
  const loadFile = createPageFiles();

  /** Answers with the newest validation e-mail to an e-mail address, or 204 if there is none. */
  async function answerMail(ctx: Context, find: NonNullable<typeof findMail>): Promise<void> {
    const client = clientOf(undefined, requestInfo(ctx));
    await jsonBodies.withBody(ctx.req, client, {}, async (body) => {
      const { email } = parseInput(MailRequest, body, 'body') as z.output<typeof MailRequest>;
      ctx.set('Cache-Control', 'no-store');
      const mail = await find(email);
      if (mail === undefined) ctx.status = 204;
      else ctx.body = { token: mail.token, fingerprint: mail.fingerprint };
    });
  }

  return async function serveExplorer(ctx: Context, next: Next): Promise<void> {
    const asksForMail = ctx.path === mailPath && ctx.method === 'POST';
    if (asksForMail && findMail !== undefined) return answerMail(ctx, findMail);
    const name = /^\/api\/docs(?:\/([\w.-]+))?$/.exec(ctx.path);
    if (name === null || ctx.method !== 'GET') return next();
    if (name[1] === 'openapi.json') {
      ctx.set('Content-Security-Policy', policy);
      ctx.body = openApi;
      return;
    }
    const file = await loadFile(name[1] ?? 'page.html');
    if (file === undefined) return next();
    ctx.set('Content-Security-Policy', policy);
    ctx.type = file.type;
    ctx.body = file.content;
  };
}
