// Handles output that cannot be written: its reader has ended, as in `rollcall nodes | head`, or its disk is full.
import { codeOf } from "./fault.ts";

/** Ends this process, like SIGPIPE, if the reader of stdout has ended. Another fault of stdout gets a line and exit code 1. */
export function endWithReader(program: string): void {
  outliveReader(process.stderr);
  process.stdout.on("error", (error) => {
    if (codeOf(error) !== "EPIPE") {
      console.error(`${program}: the output cannot be written (${codeOf(error)})`);
      process.exitCode = 1;
    }
    process.exit();
  });
}

/** Lets this process do its work without a reader of these streams. Without a listener Node.js would end the process. */
export function outliveReader(...streams: NodeJS.WritableStream[]): void {
  for (const stream of streams) stream.on("error", () => undefined);
}
