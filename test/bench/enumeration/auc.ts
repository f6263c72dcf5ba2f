/**
 * Returns the chance that a random member of `b` is larger than one of `a`, ties counting half: 0.5
 * if the two cannot be told apart (the Mann–Whitney U statistic over the product of the sizes).
 */
export function areaUnderCurve(a: readonly number[], b: readonly number[]): number {
  const all = [
    ...a.map((value) => ({ value, fromB: false })),
    ...b.map((value) => ({ value, fromB: true })),
  ].toSorted((x, y) => x.value - y.value);
  let rankSum = 0;
  for (let start = 0; start < all.length;) {
    let end = start;
    while (end < all.length && all[end]?.value === all[start]?.value) end += 1;
    const sharedRank = (start + 1 + end) / 2;
    for (const { fromB } of all.slice(start, end)) if (fromB) rankSum += sharedRank;
    start = end;
  }
  return (rankSum - (b.length * (b.length + 1)) / 2) / (a.length * b.length);
}
