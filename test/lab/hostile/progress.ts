// Shows the progress of a run in one line, which is overwritten each time. Writes nothing without a terminal.
export interface Progress {
  show: (text: string) => void;
  clear: () => void;
}

/** Returns a progress line on this stream, typically process.stderr. */
export function progressOn(stream: { isTTY?: boolean; write: (text: string) => unknown }): Progress {
  const put = (text: string) => {
    if (stream.isTTY) stream.write(`\r\u001B[K${text}`);
  };
  return { show: put, clear: () => put("") };
}
