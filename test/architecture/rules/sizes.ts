import { folderOf, isWithin, type SourceFile } from '../source/sources.ts';

const maxFiles = 12;
const maxColumns = 100;
const maxLines = 300;

/** Folders of which each new file is one more of a kind, so that their number grows with time. */
const grownFolders = ['app/db/migrations', 'test/vectors'];

/** Finds folders that hold more than 12 .ts files side by side. */
export function crowdedFolders(files: readonly SourceFile[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { path } of files) {
    const folder = folderOf(path);
    if (!path.endsWith('.ts') || grownFolders.some((grown) => isWithin(folder, grown))) continue;
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > maxFiles)
    .map(
      ([folder, count]) =>
        `${folder} holds ${count} files, more than ${maxFiles}: group some in a folder.`,
    );
}

/** Finds lines of more than 100 columns, comments and strings included. */
export function longLines(files: readonly SourceFile[]): readonly string[] {
  return files
    .filter(({ path }) => !isWithin(path, 'test/vectors'))
    .flatMap(({ path, text }) =>
      text.split('\n').flatMap((line, index) => {
        if (line.length <= maxColumns) return [];
        return [`${path}:${index + 1} has ${line.length} columns: break it at ${maxColumns}.`];
      }),
    );
}

/** Finds files of more than 300 lines. */
export function longFiles(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap(({ path, text }) => {
    const lines = text.replace(/\n$/, '').split('\n').length;
    if (lines <= maxLines) return [];
    return [`${path} has ${lines} lines, more than ${maxLines}: split it by idea.`];
  });
}
