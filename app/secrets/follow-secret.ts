import { readSecretFile } from '../../signer/protocol/process/named-file.ts';
import type { Log } from '../telemetry/log.ts';

interface FollowedSecret {
  /** The variable of the setting. */
  readonly variable: string;
  /** The value at the start. */
  readonly value: string;
  /** The path of the file that holds the secret, if it stands in a file. */
  readonly file: string | undefined;
  /** Returns whether the setting takes this value. */
  readonly accepts?: (value: string) => boolean;
  /** Gets a line when the file becomes unusable. */
  readonly log?: Log;
}

/**
 * Returns a function that returns the present value of a secret, for which it reads the file anew.
 * While the file cannot be used, the value that was read last stays in force.
 */
export function followSecret(secret: FollowedSecret): () => string {
  const { variable, value, file, accepts = () => true, log } = secret;
  if (file === undefined) return () => value;
  let last = value;
  let complaint = '';
  return () => {
    const read = readSecretFile(file);
    let problem = '';
    if ('problem' in read) problem = read.problem;
    else if (!accepts(read.secret)) problem = 'names a file without a value of this setting';
    else last = read.secret;
    if (problem !== '' && problem !== complaint) {
      log?.error(`${variable}_FILE ${problem}; until then the value that was read last is used`);
    }
    complaint = problem;
    return last;
  };
}
