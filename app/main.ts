import { nextStopSignal } from '../signer/protocol/process/stop-signal.ts';
import { missingFlags } from './runtime-flags.ts';

const stopSignal = nextStopSignal();

// The process replaces itself, so that whoever starts the app needs to know no flags, and sends
// signals to the process that serves.
const missing = missingFlags(process.execArgv);
if (missing.length > 0 && process.execve !== undefined) {
  const [program = process.execPath, ...rest] = process.argv;
  process.execve(program, [program, ...process.execArgv, ...missing, ...rest]);
} else {
  const { serve } = await import('./serve.ts');
  await serve(stopSignal);
}
