import { Socket } from 'node:net';

// The signer holds the other end of stdin and never writes: it closes when the signer is gone,
// however it went. This thread sees that even while the main one is stuck in a PKCS#11 call, and
// ending in any other way would wait for threads that are stuck as well.
new Socket({ fd: 0, readable: true })
  .once('close', () => process.kill(process.pid, 'SIGKILL'))
  .resume();
