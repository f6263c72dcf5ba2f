/**
 * Performs one attack, which the parent process names, until the parent tells it to stop. Then
 * sends the parent how often each answer came.
 */
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { createAttacker, type Target } from './attacker.ts';
import { attacks } from './attacks.ts';

// The attacker stands for other machines, so it takes no processor time that the vault needs.
setPriority(19);
process.send?.('ready');
const [{ name, target }] = (await once(process, 'message')) as [Order];
const stop = new AbortController();
process.once('message', () => stop.abort());
// Ends with the parent, even one that was killed.
process.once('disconnect', () => process.exit());
const attacker = createAttacker(target, stop.signal);
await attacks.find((attack) => attack.name === name)?.run(attacker);
process.send?.([...attacker.answers], () => process.disconnect());

interface Order {
  readonly name: string;
  readonly target: Target;
}
