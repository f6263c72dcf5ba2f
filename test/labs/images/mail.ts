/** Runs a mail server on a port that writes each e-mail as a file: node mail.ts DIRECTORY [PORT] */
import { randomUUID } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { callbackify } from 'node:util';
import { SMTPServer } from 'smtp-server';

const [directory = '', port = '2525'] = process.argv.slice(2);

/** Writes a file that has its name only once it is whole. */
const keep = callbackify(async (stream: NodeJS.ReadableStream): Promise<void> => {
  const file = join(directory, randomUUID());
  await writeFile(file, await buffer(stream));
  await rename(file, `${file}.eml`);
});

new SMTPServer({
  authOptional: true,
  disabledCommands: ['AUTH', 'STARTTLS'],
  onData: (stream, _session, callback) => keep(stream, callback),
}).listen(Number(port));
