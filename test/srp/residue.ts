import { prime } from '../../app/srp/group.ts';

/** Returns whether a number is a square modulo N, by its Jacobi symbol. */
export function isResidue(value: bigint): boolean {
  let [a, n, sign] = [((value % prime) + prime) % prime, prime, 1];
  while (a !== 0n) {
    while (a % 2n === 0n) {
      a /= 2n;
      if (n % 8n === 3n || n % 8n === 5n) sign = -sign;
    }
    [a, n] = [n, a];
    if (a % 4n === 3n && n % 4n === 3n) sign = -sign;
    a %= n;
  }
  return sign === 1;
}
