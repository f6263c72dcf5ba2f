import { scan, type Comment } from '../source/scan.ts';
import { lineAt, type SourceFile } from '../source/sources.ts';

const headless = /^(?:of|the same|what|who|whose|whoever)\b/i;

/** Finds comments that begin without a subject or a verb, such as `Of …` or `What …`. */
export function headlessComments(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap((file) =>
    beginnings(file.text).flatMap(({ start, text }) => {
      const found = headless.exec(text)?.[0];
      if (found === undefined) return [];
      return [
        `${file.path}:${lineAt(file.text, start)} has a comment that begins with '${found}': ` +
          'begin with what the code does.',
      ];
    }),
  );
}

/** Returns the comments of a text without their delimiters, and lines that go on left out. */
function beginnings(text: string): readonly Comment[] {
  const { comments } = scan(text);
  return comments
    .filter((comment, index) => !continues(text, comments[index - 1], comment))
    .map(({ start, text: comment }) => ({
      start,
      text: comment.replace(/^(?:\/\/|\/\*+)[\s*]*/, ''),
    }));
}

/** Tells whether a line comment goes on with the text of the comment on the line above. */
function continues(text: string, previous: Comment | undefined, comment: Comment): boolean {
  if (previous?.text.startsWith('//') !== true || !comment.text.startsWith('//')) return false;
  const between = text.slice(previous.start + previous.text.length, comment.start);
  return /^\n[ \t]*$/.test(between);
}
