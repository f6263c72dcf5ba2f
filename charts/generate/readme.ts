import { isMap, isScalar, parseDocument, type ParsedNode } from 'yaml';

interface Value {
  readonly key: string;
  readonly default: string;
  readonly description: string;
}

const mark = '-- ';

/** Returns the description in a comment: what follows `--`, as one line; empty without it. */
function describe(comment: string | null | undefined): string {
  const lines = (comment ?? '').split('\n').map((line) => line.trim());
  const first = lines.findIndex((line) => line.startsWith(mark));
  if (first === -1) return '';
  return [lines[first]?.slice(mark.length), ...lines.slice(first + 1)].join(' ').trim();
}

/** Lists the values below a node; one with a description and everything below it is one value. */
function* listValues(node: ParsedNode, path: readonly string[], inherited = ''): Generator<Value> {
  if (!isMap(node)) return;
  for (const [index, { key: name, value }] of node.items.entries()) {
    // The parser takes a comment above the first key for one of the map.
    const comment = name.commentBefore ?? (index === 0 ? inherited : null);
    const key = [...path, isScalar(name) ? String(name.value) : ''];
    const description = describe(comment);
    const isGroup = isMap(value) && value.items.length > 0 && description === '';
    if (isGroup) yield* listValues(value, key, value.commentBefore ?? '');
    else yield { key: key.join('.'), default: JSON.stringify(value?.toJSON()), description };
  }
}

/** Returns the README of the chart: its introduction, and a table of the values in values.yaml. */
export function chartReadme(introduction: string, values: string): string {
  const document = parseDocument(values);
  if (document.contents === null) throw new Error('values.yaml is empty');
  const cell = (text: string) => text.replaceAll('|', String.raw`\|`);
  const rows = [...listValues(document.contents, [], document.commentBefore ?? '')].map(
    (value) => `| \`${value.key}\` | \`${cell(value.default)}\` | ${cell(value.description)} |`,
  );
  return [
    introduction.trimEnd(),
    '',
    '## Values',
    '',
    'Made from the comments of `values.yaml` by `npm run chart`; a test fails on a difference.',
    '',
    '| value | default | meaning |',
    '| --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}
