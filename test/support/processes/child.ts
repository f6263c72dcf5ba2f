import { fork } from 'node:child_process';
import { once } from 'node:events';
import { projectFile } from '../../../app/dev/files/project.ts';

/** A program of a bench in a separate process, so that its cost can be measured separately. */
export interface Child<Question, Answer> extends AsyncDisposable {
  readonly pid: number;
  /** Asks one question at a time. Rejects if the program fails. */
  ask(question: Question): Promise<Answer>;
}

type Reply<Answer> = { answer: Answer } | { readonly error: string };

export function startChild<Question extends object, Answer>(
  file: string,
  env: Record<string, string> = {},
): Child<Question, Answer> {
  const child = fork(projectFile(file), {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit');
  return {
    pid: child.pid ?? 0,
    async ask(question) {
      child.send(question);
      const ended = exited.then(() => [{ error: `${file} exited` }]);
      const [reply] = (await Promise.race([once(child, 'message'), ended])) as [Reply<Answer>];
      if ('error' in reply) throw new Error(reply.error);
      return reply.answer;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}

/** Answers questions in the child process until its parent disconnects. */
export function answerParent(handler: (question: never) => Promise<unknown>): void {
  process.on('disconnect', () => process.exit());
  process.on('message', (question) => {
    handler(question as never).then(
      (answer) => process.send?.({ answer } satisfies Reply<unknown>),
      (error: unknown) => process.send?.({ error: String(error) } satisfies Reply<unknown>),
    );
  });
}
