const barCells = 30;
const redrawMs = 100;
const lineEveryPercent = 10;

export interface Progress {
  update(doneBytes: number, totalBytes: number): void;
  /** Ends the line of the progress bar, if one was drawn. Idempotent. */
  end(): void;
}

/** Shows progress as a bar on a terminal, and otherwise as one line for every 10 percent. */
export function createProgress(output: NodeJS.WriteStream): Progress {
  return output.isTTY ? drawBar(output) : writeLines(output);
}

function drawBar(output: NodeJS.WriteStream): Progress {
  const startedAt = performance.now();
  let drawnAt = -Infinity;
  let drawn = false;
  return {
    update(doneBytes, totalBytes) {
      const now = performance.now();
      if (now - drawnAt < redrawMs && doneBytes < totalBytes) return;
      drawnAt = now;
      drawn = true;
      const cells = Math.floor((doneBytes / totalBytes) * barCells);
      const bar = '█'.repeat(cells).padEnd(barCells, '░');
      const speed = formatBytes((doneBytes / (now - startedAt)) * 1000);
      output.write(`\r\u001b[2K  ${bar} ${describe(doneBytes, totalBytes)}, ${speed}/s`);
    },
    end() {
      if (drawn) output.write('\n');
      drawn = false;
    },
  };
}

function writeLines(output: NodeJS.WriteStream): Progress {
  let next = 0;
  return {
    update(doneBytes, totalBytes) {
      const percent = (doneBytes / totalBytes) * 100;
      if (percent < next) return;
      next = (Math.floor(percent / lineEveryPercent) + 1) * lineEveryPercent;
      output.write(`  ${describe(doneBytes, totalBytes)}\n`);
    },
    end() {},
  };
}

function describe(doneBytes: number, totalBytes: number): string {
  const percent = Math.floor((doneBytes / totalBytes) * 100);
  return `${percent} % of ${formatBytes(totalBytes)}`;
}

/** Returns a size such as "12.3 MiB". */
export function formatBytes(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB'];
  let value = bytes;
  while (value >= 1024 && units.length > 1) {
    value /= 1024;
    units.shift();
  }
  return `${units[0] === 'bytes' ? Math.round(value) : value.toFixed(1)} ${units[0]}`;
}
