import { scan } from '../source/scan.ts';
import type { SourceFile } from '../source/sources.ts';

const reExport =
  /\bexport\s+(?:type\s+)?(?:\*(?:\s+as\s+\w+)?|\{[^}]*\})(?:\s*from\s*['"]\s*['"])?/g;
const importStatement = /\bimport\s+(?:[\w\s{},*]+?\bfrom\s*)?['"]\s*['"]/g;

/** Finds files that do nothing but pass on what other files export. */
export function barrels(files: readonly SourceFile[]): readonly string[] {
  return files
    .filter(({ text }) => {
      const { code } = scan(text);
      const rest = code.replace(reExport, '').replace(importStatement, '');
      return rest !== code && code.search(reExport) !== -1 && /^[\s;]*$/.test(rest);
    })
    .map(({ path }) => `${path} only re-exports: import the files themselves.`);
}
