import { mkdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import type { Credentials } from '../../accounts/accounts.ts';
import { openResumeFile, resumePath } from '../../node/resume-file.ts';
import type { ResumeStore } from '../../uploads/resume.ts';

const SavedAccount = z.object({ email: z.string(), password: z.string() });

/** What a run that was interrupted leaves for the next one with the same file. */
export interface ResumePlace extends AsyncDisposable {
  readonly journal: ResumeStore;
  /** Undefined if no run was interrupted. */
  loadAccount(): Promise<Credentials | undefined>;
  /** Only its owner may read it: the password is in it. */
  saveAccount(credentials: Credentials): Promise<void>;
  forgetAccount(): Promise<void>;
}

/** One run at a time has it for a file. Throws resume_in_use. Dispose of it to let others. */
export async function openResumePlace(directory: string, file: string): Promise<ResumePlace> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const path = resumePath(directory, file);
  const accountPath = `${path}.account.json`;
  const journal = await openResumeFile(path);
  return {
    journal,
    async loadAccount() {
      try {
        return SavedAccount.parse(JSON.parse(await readFile(accountPath, 'utf8')));
      } catch {
        return undefined;
      }
    },
    saveAccount: ({ email, password }) =>
      writeFile(accountPath, JSON.stringify({ email, password }), { mode: 0o600 }),
    forgetAccount: () => rm(accountPath, { force: true }),
    async [Symbol.asyncDispose]() {
      await journal[Symbol.asyncDispose]();
      for (const path of [directory, dirname(directory)]) {
        // Fails, as it should, while anything is in it.
        await rmdir(path).catch(() => undefined);
      }
    },
  };
}
