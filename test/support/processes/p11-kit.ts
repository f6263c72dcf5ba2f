import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { until, type TokenFixture } from '../audit/token-fixture.ts';

const clientLibrary = [
  '/usr/lib/x86_64-linux-gnu/pkcs11/p11-kit-client.so',
  '/usr/lib/aarch64-linux-gnu/pkcs11/p11-kit-client.so',
  '/usr/lib64/pkcs11/p11-kit-client.so',
  '/usr/lib/pkcs11/p11-kit-client.so',
].find((path) => existsSync(path));

const program = (process.env.PATH ?? '')
  .split(delimiter)
  .map((directory) => join(directory, 'p11-kit'))
  .find((path) => existsSync(path));

/** A token served over a socket by a process that can die and hang, like a network HSM. */
export interface TokenServer {
  /** Variables with which a signer reaches the token through the server. */
  readonly environment: Record<string, string>;
  start(): Promise<void>;
  kill(): Promise<void>;
  /** Stops the server by SIGSTOP: requests get neither a response nor an error. */
  hang(): void;
  resume(): void;
}

/** Creates a server for the fixture's token, which must exist. The server is not started yet. */
export function createTokenServer(fixture: TokenFixture): TokenServer {
  if (clientLibrary === undefined || program === undefined)
    throw new Error('install p11-kit and its client module');
  const command = program;
  const socketPath = join(fixture.directory, 'p11-kit.sock');
  const { SIGNER_LIBRARY, SIGNER_TOKEN_LABEL } = fixture.environment;
  const token = `pkcs11:token=${encodeURIComponent(SIGNER_TOKEN_LABEL)}`;
  let server: ChildProcess | undefined;

  /** Signals the whole process group, as the server uses a process for each connection. */
  const signal = (name: NodeJS.Signals): void => {
    if (server?.pid !== undefined && server.exitCode === null && server.signalCode === null)
      process.kill(-server.pid, name);
  };
  return {
    environment: {
      SIGNER_LIBRARY: clientLibrary,
      P11_KIT_SERVER_ADDRESS: `unix:path=${socketPath}`,
    },

    async start() {
      await rm(socketPath, { force: true });
      const args = ['server', '-f', '-n', socketPath, '--provider', SIGNER_LIBRARY, token];
      server = spawn(command, args, {
        env: fixture.environment,
        detached: true,
        stdio: 'ignore',
      });
      await until(() => existsSync(socketPath));
    },

    async kill() {
      if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
      const exit = once(server, 'exit');
      signal('SIGKILL');
      await exit;
    },

    hang: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
  };
}
