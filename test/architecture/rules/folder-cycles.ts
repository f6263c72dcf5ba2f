import { importsOf, targetFolder } from '../source/imports.ts';
import { folderOf, isWithin, type SourceFile } from '../source/sources.ts';

type Graph = ReadonlyMap<string, ReadonlySet<string>>;

/** Finds the groups of folders at or below `top` that import each other in a circle. */
export function folderCycles(files: readonly SourceFile[], top: string): readonly string[] {
  const graph = folderGraph(
    files.filter(({ path }) => isWithin(path, top)),
    top,
  );
  return components(graph).map((folders) => {
    const inner = folders.flatMap((from) =>
      [...(graph.get(from) ?? [])]
        .filter((to) => folders.includes(to))
        .map((to) => `${from} → ${to}`),
    );
    return `${top}: folders import each other (${inner.join(', ')}): cut one direction.`;
  });
}

/** Finds the groups of files that import each other in a circle, by type imports too. */
export function fileCycles(files: readonly SourceFile[]): readonly string[] {
  const graph = new Map(
    files.map((file) => [file.path, new Set(importsOf(file).map(({ target }) => target))]),
  );
  return components(graph).map(
    (group) => `${group.join(', ')} import each other: cut one direction.`,
  );
}

function folderGraph(files: readonly SourceFile[], top: string): Graph {
  const folders = new Set(files.map(({ path }) => folderOf(path)));
  const graph = new Map([...folders].map((folder) => [folder, new Set<string>()]));
  for (const file of files) {
    const own = folderOf(file.path);
    for (const { target } of importsOf(file)) {
      const folder = targetFolder(target, folders);
      if (folder !== own && isWithin(folder, top)) graph.get(own)?.add(folder);
    }
  }
  return graph;
}

/** Returns the strongly connected components of more than one folder. */
function components(graph: Graph): readonly (readonly string[])[] {
  const reach = new Map([...graph.keys()].map((folder) => [folder, reachable(graph, folder)]));
  const placed = new Set<string>();
  return [...graph.keys()].flatMap((folder) => {
    if (placed.has(folder) || reach.get(folder)?.has(folder) !== true) return [];
    const group = [...graph.keys()].filter(
      (other) => reach.get(folder)?.has(other) === true && reach.get(other)?.has(folder) === true,
    );
    for (const member of group) placed.add(member);
    return [group];
  });
}

function reachable(graph: Graph, start: string): ReadonlySet<string> {
  const seen = new Set<string>();
  const waiting = [...(graph.get(start) ?? [])];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    waiting.push(...(graph.get(next) ?? []));
  }
  return seen;
}
