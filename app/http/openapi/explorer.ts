import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Context, Next } from 'koa';

const assetTypes: ReadonlyMap<string, string> = new Map([
  ['swagger-ui.css', 'text/css'],
  ['swagger-ui-bundle.js', 'text/javascript'],
]);

const page = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Probatio API</title>
<link rel="stylesheet" href="docs/swagger-ui.css"><div id="explorer"></div>
<script src="docs/swagger-ui-bundle.js"></script><script src="docs/start.js"></script></html>`;

const start = `SwaggerUIBundle({ url: 'docs/openapi.json', dom_id: '#explorer' });`;

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** Serves the interactive API explorer at /api/docs. Mounted in development only. */
export function explorer(openApi: object) {
  return async function serveExplorer(ctx: Context, next: Next): Promise<void> {
    const file = /^\/api\/docs(?:\/([\w.-]*))?$/.exec(ctx.path)?.[1];
    if (!ctx.path.startsWith('/api/docs') || ctx.method !== 'GET') return next();
    ctx.set('Content-Security-Policy', policy);
    const type = assetTypes.get(file ?? '');
    if (file === undefined && ctx.path === '/api/docs') {
      ctx.type = 'html';
      ctx.body = page;
    } else if (file === 'openapi.json') {
      ctx.body = openApi;
    } else if (file === 'start.js') {
      ctx.type = 'text/javascript';
      ctx.body = start;
    } else if (file !== undefined && type !== undefined) {
      ctx.type = type;
      const entry = fileURLToPath(import.meta.resolve('swagger-ui-dist'));
      ctx.body = await readFile(path.join(path.dirname(entry), file));
    }
  };
}
