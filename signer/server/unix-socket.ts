import { once } from 'node:events';
import { unlinkSync } from 'node:fs';
import { connect, type Server } from 'node:net';

/** Nobody but owner and group may connect. */
const socketUmask = 0o117;

/**
 * Listens on a Unix socket of mode 0660, in place of one that a dead process left behind. Throws
 * when somebody answers there, or the file is no socket.
 */
export async function listenOnSocket(server: Server, path: string): Promise<void> {
  if (await isStale(path)) unlinkSync(path);
  // bind(2) runs within listen(): with the umask set there is no moment of wider permissions.
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
  throw new Error(`another process answers on ${path}`);
}
