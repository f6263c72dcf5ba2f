import { isOfSegments, type Opening } from './opening.ts';

/**
 * Returns the text of opening.txt, which `verify-original.sh` reads: the values of opening.json, a
 * name and a value on each line.
 */
export function formatOpening(opening: Opening): string {
  const lines = isOfSegments(opening)
    ? [
        `root ${opening.root}`,
        `whole ${opening.whole}`,
        `size ${opening.size}`,
        `commitment-salt ${opening.commitmentSalt}`,
        ...opening.segments.flatMap(({ index, salt, path }) => [
          `segment ${index}`,
          `salt ${salt}`,
          ...path.map((hash) => `path ${hash}`),
        ]),
      ]
    : [
        `seed ${opening.seed}`,
        `root ${opening.root}`,
        `sha256 ${opening.sha256}`,
        `size ${opening.size}`,
      ];
  return [`opening ${opening.v}`, ...lines, ''].join('\n');
}
