// One line on a terminal that says what is waited for, and goes away. Elsewhere nothing is written.

interface ProgressStream {
  isTTY?: boolean;
  columns?: number;
  write: (text: string) => unknown;
}

const CLEAR = "\r\u{1B}[K";

/** `stream` is typically process.stderr. */
export function progressLine(
  stream: ProgressStream,
  before: string,
): { show: (text: string) => void; clear: () => void } {
  let shown = "";
  const put = (line: string) => {
    if (stream.isTTY !== true || line === shown) return;
    shown = line;
    stream.write(CLEAR + line);
  };
  return {
    // A line that wraps could not be cleared.
    show: (text) => put((before + text).slice(0, (stream.columns ?? 80) - 1)),
    clear: () => put(""),
  };
}
