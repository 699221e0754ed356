// Asks the operator before a change that cannot be undone. Without a terminal the answer is no, unless --yes is passed.
import { createInterface } from "node:readline/promises";
import { failure, type Result, success } from "../../shared/result.ts";

export interface Terminal {
  /** true if stdin and stderr are a terminal. */
  isInteractive: boolean;
  /** Prints the question. Resolves with the typed line, or undefined if the input has ended. */
  ask: (question: string) => Promise<string | undefined>;
}

/** The terminal of this process. Questions go to stderr, so that stdout has only answers. */
export const terminal: Terminal = {
  isInteractive: process.stdin.isTTY && process.stderr.isTTY,
  ask: async (question) => {
    const lines = createInterface({ input: process.stdin, output: process.stderr });
    try {
      const ended = new Promise<undefined>((resolve) => lines.once("close", () => resolve(undefined)));
      return await Promise.race([lines.question(question), ended]);
    } finally {
      lines.close();
    }
  },
};

/**
 * Asks for a yes to `consequence`, like "edge-7: its Node and lease are removed". Returns an error for a no. `instead`: the
 * flag with which a script answers.
 */
export async function confirmed(
  consequence: string,
  { yes = false }: { yes?: boolean },
  { isInteractive, ask }: Terminal,
  instead = "--yes",
): Promise<Result<null>> {
  if (yes) return success(null);
  if (!isInteractive) return failure(`${consequence}. There is no terminal to ask at: pass ${instead}`);
  const typed = (await ask(`${consequence}. Continue? [y/N] `)) ?? "";
  return /^y(es)?$/i.test(typed.trim()) ? success(null) : failure("nothing was changed");
}
