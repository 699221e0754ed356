// One line with the progress of a run, overwritten each time; nothing without a terminal.
export interface Progress {
  show: (text: string) => void;
  clear: () => void;
}

/** `stream`: typically process.stderr. */
export function progressOn(stream: { isTTY?: boolean; write: (text: string) => unknown }): Progress {
  const put = (text: string) => {
    if (stream.isTTY) stream.write(`\r\u001B[K${text}`);
  };
  return { show: put, clear: () => put("") };
}
