import { nextStopSignal } from './protocol/process/stop-signal.ts';

const stopSignal = nextStopSignal();
const { serve } = await import('./serve.ts');
await serve(stopSignal);
