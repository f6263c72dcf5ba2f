import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { build } from 'esbuild';
import { projectFile } from '../../app/dev/files/project.ts';

const emptyPage = `<!doctype html>
<html lang="en">
  <title>An application of the vault</title>
  <input type="file">
  <script type="module" src="/application.js"></script>
</html>
`;

export interface PageServer {
  readonly origin: string;
  /** Lets the page connect to this vault and to no other origin. */
  connectTo(vaultUrl: string): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Serves the application in `page/` as a production site would, with a strict
 * Content-Security-Policy.
 */
export async function startPageServer(): Promise<PageServer> {
  let script = '';
  let policy = '';
  const server = createServer((request, response) => {
    response.setHeader('Content-Security-Policy', policy);
    response.setHeader('X-Content-Type-Options', 'nosniff');
    if (request.url === '/') response.setHeader('Content-Type', 'text/html').end(emptyPage);
    else if (request.url === '/application.js') {
      response.setHeader('Content-Type', 'text/javascript').end(script);
    } else response.writeHead(204).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async connectTo(vaultUrl) {
      script = await bundle(vaultUrl);
      policy = [
        "default-src 'none'",
        "script-src 'self' 'wasm-unsafe-eval'",
        `connect-src ${vaultUrl}`,
        "img-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
      ].join('; ');
    },
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** Bundles the application. Throws if the client imports a module that browsers do not have. */
async function bundle(vaultUrl: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [projectFile('test/browser/page/main.ts')],
    bundle: true,
    format: 'esm',
    platform: 'browser',
    define: { VAULT_URL: JSON.stringify(vaultUrl) },
    sourcemap: 'inline',
    write: false,
    logLevel: 'silent',
  });
  return outputFiles.map(({ text }) => text).join('');
}
