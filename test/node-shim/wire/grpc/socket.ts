// Makes a folder for unix sockets, whose paths have to be short, and cleans up after a test.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Place {
  socketPath: string;
  /** Registers a function that `end` calls. The functions are called in reverse order. */
  later: (close: () => unknown) => void;
  end: () => Promise<void>;
}

export function place(): Place {
  const folder = mkdtempSync(join(tmpdir(), "rpc-"));
  const closing: (() => unknown)[] = [];
  return {
    socketPath: join(folder, "s.sock"),
    later: (close) => closing.push(close),
    end: async () => {
      for (const close of closing.toReversed()) await close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
