import { Socket } from 'node:net';

// The signer holds the other end of stdin and never writes to it, so that stdin closes when the
// signer ends in any way. This thread notices that even while the main thread is stuck in a PKCS#11
// call. It uses SIGKILL because an orderly exit would wait for the threads that are stuck.
new Socket({ fd: 0, readable: true })
  .once('close', () => process.kill(process.pid, 'SIGKILL'))
  .resume();
