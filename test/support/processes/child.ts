import { fork } from 'node:child_process';
import { once } from 'node:events';
import { projectFile } from '../../../app/dev/files/project.ts';

/** A program of a bench in a process of its own, so that what it costs is told apart. */
export interface Child<Question, Answer> extends AsyncDisposable {
  readonly pid: number;
  /** One question at a time. Rejects when the program fails. */
  ask(question: Question): Promise<Answer>;
}

type Reply<Answer> = { answer: Answer } | { error: string };

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
      const ended = exited.then(() => [{ error: `${file} ended` }]);
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

/** The program's side: answers until the parent goes away. */
export function answerParent(handler: (question: never) => Promise<unknown>): void {
  process.on('disconnect', () => process.exit());
  process.on('message', (question) => {
    handler(question as never).then(
      (answer) => process.send?.({ answer } satisfies Reply<unknown>),
      (error: unknown) => process.send?.({ error: String(error) } satisfies Reply<unknown>),
    );
  });
}
