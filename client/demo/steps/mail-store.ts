import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { DemoError } from '../terminal/demo-error.ts';

/** E-mails that a vault has sent: files in a folder, or those that Mailpit caught. */
export interface MailStore {
  /** Resolves with the names of the latest e-mails. Throws DemoError if the store is away. */
  list(): Promise<readonly string[]>;
  /** Resolves with an e-mail as it was sent (RFC 5322). */
  read(name: string): Promise<string>;
}

const MailpitList = z.object({ messages: z.array(z.object({ ID: z.string() })) });

/** Returns the e-mails at the URL of a Mailpit, or in a folder. */
export function mailStoreAt(place: string): MailStore {
  return /^https?:\/\//.test(place) ? mailpitAt(place.replace(/\/+$/, '')) : mailFolder(place);
}

/** @param url Base URL of a Mailpit, whose API is at `/api/v1`. */
function mailpitAt(url: string): MailStore {
  const get = async (path: string) => {
    const response = await fetch(`${url}/api/v1/${path}`).catch((cause: unknown) => {
      throw unreadable(url, cause);
    });
    if (!response.ok) throw unreadable(url, new Error(`${path}: ${response.status}`));
    return response;
  };
  return {
    async list() {
      const { messages } = MailpitList.parse(await (await get('messages?limit=100')).json());
      return messages.map(({ ID }) => ID);
    },
    read: async (id) => (await get(`message/${encodeURIComponent(id)}/raw`)).text(),
  };
}

function mailFolder(directory: string): MailStore {
  return {
    async list() {
      const names = await readdir(directory).catch((cause: unknown) => {
        throw unreadable(directory, cause);
      });
      return names.filter((name) => name.endsWith('.eml'));
    },
    read: (name) => readFile(join(directory, name), 'utf8'),
  };
}

function unreadable(place: string, cause: unknown): DemoError {
  return new DemoError(`cannot read e-mails in ${place}: ${mailAdvice}`, { cause });
}

export const mailAdvice =
  'set PROBATIO_MAIL to the folder that npm start shows under E-mails, or to the URL of Mailpit';
