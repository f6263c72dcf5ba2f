import { once } from 'node:events';
import { unlinkSync } from 'node:fs';
import { connect, type Server } from 'node:net';

/** Umask with which only the owner and the group can connect to the socket. */
const socketUmask = 0o117;

/**
 * Listens on a Unix socket of mode 0660 and replaces a socket that a dead process left behind.
 * Throws if another process listens on the path, or if the file at the path is not a socket.
 */
export async function listenOnSocket(server: Server, path: string): Promise<void> {
  if (await isStale(path)) unlinkSync(path);
  // listen() calls bind(2) synchronously: with the umask set, the socket never has a wider mode.
  const umask = process.umask(socketUmask);
  try {
    server.listen(path);
  } finally {
    process.umask(umask);
  }
  await once(server, 'listening');
}

async function isStale(path: string): Promise<boolean> {
  const probe = connect(path);
  try {
    await once(probe, 'connect');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return false;
    if (code === 'ECONNREFUSED') return true;
    throw error;
  } finally {
    probe.destroy();
  }
  throw new Error(`another process listens on ${path}: stop it, or set another SIGNER_SOCKET_PATH`);
}
