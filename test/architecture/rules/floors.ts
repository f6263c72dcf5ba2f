import type { Floor } from '../floors.ts';
import { importsOf, targetFolder } from '../source/imports.ts';
import { folderOf, isWithin, type SourceFile } from '../source/sources.ts';

/**
 * Finds the folders of `app/` that the list of floors misses, repeats or invents, and the imports
 * that run upward in it. A folder below another one stands for itself. `app/dev` is left out.
 */
export function floorProblems(
  files: readonly SourceFile[],
  floors: readonly Floor[],
): readonly string[] {
  const floored = files.filter(({ path }) => isWithin(path, 'app') && !isWithin(path, 'app/dev'));
  const present = new Set(floored.map(({ path }) => folderOf(path)));
  const order = floors.flatMap(({ folders }) => folders);
  return [...listProblems(present, order), ...upwardImports(floored, present, floors)];
}

function listProblems(present: ReadonlySet<string>, order: readonly string[]): readonly string[] {
  const listed = new Set(order);
  return [
    ...[...present]
      .filter((folder) => !listed.has(folder))
      .map((folder) => `${folder} stands on no floor: list it in floors.ts.`),
    ...[...listed]
      .filter((folder) => !present.has(folder))
      .map((folder) => `${folder} holds no source file: remove it from floors.ts.`),
    ...[...listed]
      .filter((folder) => order.indexOf(folder) !== order.lastIndexOf(folder))
      .map((folder) => `${folder} is listed more than once: keep one place in floors.ts.`),
  ];
}

function upwardImports(
  files: readonly SourceFile[],
  present: ReadonlySet<string>,
  floors: readonly Floor[],
): readonly string[] {
  const order = floors.flatMap(({ folders }) => folders);
  return files.flatMap((file) => {
    const own = order.indexOf(folderOf(file.path));
    return importsOf(file).flatMap(({ target, line }) => {
      const folder = targetFolder(target, present);
      const other = order.indexOf(folder);
      if (own === -1 || other === -1 || other >= own) return [];
      const floor = floors.find(({ folders }) => folders.includes(folder))?.name ?? '';
      return [
        `${file.path}:${line} imports ${target} from above (${floor}): move what both need below.`,
      ];
    });
  });
}
