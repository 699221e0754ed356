// Asks before what cannot be taken back. Nobody to ask (a script, a pipe) means no: say --yes there.
import { createInterface } from "node:readline/promises";
import { failure, type Result, success } from "../../shared/result.ts";

export interface Terminal {
  /** Are both ends a person's? */
  isInteractive: boolean;
  /** Shows the question, returns the line that was typed; undefined where the input ended. */
  ask: (question: string) => Promise<string | undefined>;
}

/** Questions go to stderr, so that stdout has answers only. */
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

/** `consequence`: one sentence, as in "edge-7: its Node and lease are removed". The error says what to do. */
export async function confirmed(
  consequence: string,
  { yes = false }: { yes?: boolean },
  { isInteractive, ask }: Terminal,
): Promise<Result<null>> {
  if (yes) return success(null);
  if (!isInteractive) return failure(`${consequence}. Nobody can be asked here: pass --yes`);
  const typed = (await ask(`${consequence}. Go on? [y/N] `)) ?? "";
  return /^y(es)?$/i.test(typed.trim()) ? success(null) : failure("nothing was changed");
}
