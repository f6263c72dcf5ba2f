import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { Target } from './attacker.ts';

/** How often each answer came, by status and error code. */
type Answers = readonly (readonly [answer: string, count: number])[];

/**
 * Starts an attack in a process of its own and returns the function that stops it, which resolves
 * with the answers that the attacker got.
 */
export async function startAttack(name: string, target: Target): Promise<() => Promise<Answers>> {
  const attacker = fork(new URL('attack-process.ts', import.meta.url));
  await once(attacker, 'message');
  attacker.send({ name, target });
  return async function stopAttack() {
    attacker.send('stop');
    const exited = once(attacker, 'exit');
    const [answers] = (await once(attacker, 'message')) as [Answers];
    await exited;
    return answers;
  };
}
