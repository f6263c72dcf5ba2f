import type { Document } from '../../documents/documents.ts';
import type { ByteSource } from '../../files/byte-source.ts';
import { replayRecords, type ResumeStore } from '../../uploads/resume.ts';
import type { OpenAccount } from './account.ts';
import { createProgress } from '../terminal/progress.ts';
import type { Say } from '../terminal/say.ts';

/** The keyword by which the demo searches for the document. */
export const sampleKeyword = 'evidence of the demo';

export interface Evidence {
  readonly name: string;
  readonly source: ByteSource;
  readonly say: Say;
}

export interface StoredEvidence extends Evidence {
  readonly document: Document;
}

/**
 * Encrypts a file, uploads the parts that an interrupted run has not uploaded, and creates a
 * document from the file.
 */
export async function storeEvidence(
  { session, masterKey }: OpenAccount,
  { name, source, journal, say }: Evidence & { readonly journal: ResumeStore },
): Promise<Document> {
  const saved = replayRecords(await journal.load());
  say('encrypting and uploading; if this is interrupted, run the same command to resume');
  if (saved !== undefined) {
    say(`${saved.sent.size} of ${saved.start.totalParts} parts are there: compared, not sent`);
  }
  const progress = createProgress(process.stdout);
  try {
    const document = await session.storeDocument({
      name,
      mediaType: 'application/octet-stream',
      keywords: [sampleKeyword],
      source,
      masterKey,
      resume: journal,
      onProgress({ sentBytes, totalBytes }) {
        progress.update(sentBytes, totalBytes);
        if (sentBytes < totalBytes) return;
        progress.end();
        say('uploaded; the vault now computes the SHA3-256 of what it stored');
      },
    });
    say(`stored as document ${document.id}`);
    say(`its SHA3-256, computed by the client and by the vault: ${document.fileHash}`);
    return document;
  } finally {
    progress.end();
  }
}
