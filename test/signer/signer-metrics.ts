/** Returns how often a PKCS#11 function was called, according to the text of the metrics. */
export function countOf(metrics: string, operation: string): number {
  const line = `signer_pkcs11_operation_duration_seconds_count{operation="${operation}"} `;
  const errors = `signer_pkcs11_errors_total{operation="${operation}",`;
  return metrics
    .split('\n')
    .filter((each) => each.startsWith(line) || each.startsWith(errors))
    .map((each) => Number(each.split(' ').at(-1)))
    .reduce((sum, count) => Math.max(sum, count), 0);
}
