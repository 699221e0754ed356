// Where a join token comes from: a file, standard input, or the environment. Never the command line, which every
// user of the machine can read.
import { createReadStream } from "node:fs";
import { codeOf } from "../base/fault.ts";

/** A token has 48 characters: what is larger by far is another file. */
const MAX_BYTES = 4096;

/** `file` "-" is standard input; without one, ROLLCALL_JOIN_TOKEN counts. Throws with what to do when there is none. */
export async function readJoinToken(
  file: string | undefined,
  environment: NodeJS.ProcessEnv = process.env,
  stdin: AsyncIterable<Buffer | string> = process.stdin,
): Promise<string> {
  const token = file
    ? await readAll(file, file === "-" ? stdin : createReadStream(file))
    : environment["ROLLCALL_JOIN_TOKEN"]?.trim();
  if (token) return token;
  if (file) throw new Error(`--join-token-file ${file} is empty: put the join token there`);
  throw new Error(
    "this machine is not enrolled yet: get a join token from your operator and pass --join-token-file or set ROLLCALL_JOIN_TOKEN",
  );
}

async function readAll(file: string, stream: AsyncIterable<Buffer | string>): Promise<string> {
  let text = "";
  try {
    for await (const chunk of stream) {
      text += chunk.toString();
      if (text.length > MAX_BYTES) break;
    }
  } catch (error) {
    throw new Error(
      `--join-token-file ${file} cannot be read (${codeOf(error)}): put the token there, or set ROLLCALL_JOIN_TOKEN`,
      { cause: error },
    );
  }
  return text.trim();
}
