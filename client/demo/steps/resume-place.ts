import { mkdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import type { Credentials } from '../../accounts/accounts.ts';
import { openResumeFile, resumePath } from '../../node/resume-file.ts';

const SavedAccount = z.object({ email: z.string(), password: z.string() });

export type ResumePlace = Awaited<ReturnType<typeof openResumePlace>>;

/**
 * Claims the files that an interrupted run leaves for the next run with the same evidence file.
 * Dispose of the result to release the files. Throws resume_in_use while another run has claimed
 * the files.
 */
export async function openResumePlace(directory: string, file: string) {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = resumePath(directory, file);
  const accountPath = `${path}.account.json`;
  const journal = await openResumeFile(path);
  return {
    journal,
    /** Loads the account of an interrupted run; resolves with undefined if there is none. */
    async loadAccount(): Promise<Credentials | undefined> {
      try {
        return SavedAccount.parse(JSON.parse(await readFile(accountPath, 'utf8')));
      } catch {
        return undefined;
      }
    },
    /** Saves the account, password included, in a file that only its owner may read. */
    saveAccount: ({ email, password }: Credentials): Promise<void> =>
      writeFile(accountPath, JSON.stringify({ email, password }), { mode: 0o600 }),
    forgetAccount: (): Promise<void> => rm(accountPath, { force: true }),
    async [Symbol.asyncDispose](): Promise<void> {
      await journal[Symbol.asyncDispose]();
      for (const path of [directory, dirname(directory)]) {
        // The removal fails, as intended, if the directory is not empty.
        await rmdir(path).catch(() => undefined);
      }
    },
  };
}
