import { inTime } from '../../async/in-time.ts';
import { AppError } from '../../errors/app-error.ts';

/** Milliseconds within which Redis must answer, so that a submission is refused within 2 s. */
const answerMs = 1_500;

/** Settles as `work` does. Throws queue_unavailable if `work` fails or takes over 1.5 s. */
export async function acknowledged<T>(work: Promise<T>): Promise<T> {
  try {
    return await inTime(answerMs, work);
  } catch (cause) {
    throw new AppError('queue_unavailable', { cause });
  }
}
