// Plays both ends of a question for benchmarks: a machine that answers with bytes, and an operator who reads the answer.
import { randomBytes } from "node:crypto";
import type { WorkerConnection } from "../../../infra/operator/client.ts";
import type { QuestionAnswering } from "../../../node-shim/worker-link/questions.ts";
import { type AskBody, answerLineSchema } from "../../../shared/protocol/asking.ts";
import { QUESTION_LIMITS } from "../../../shared/protocol/limits.ts";
import type { AnswerEnd } from "../../../shared/protocol/questions.ts";

/** The answers by question: a usual table, and the largest bundle, which is compressed and so no text. */
const CHUNKS: Readonly<Record<string, readonly Uint8Array[]>> = {
  disks: [Buffer.from("/      ext4  /dev/sda1  40 GiB  2.8 GiB  93%  12%  rw\n".repeat(40))],
  bundle: Array.from({ length: QUESTION_LIMITS.bundleBytes / QUESTION_LIMITS.chunkBytes }, () =>
    randomBytes(QUESTION_LIMITS.chunkBytes),
  ),
};

const COMPLETE: AnswerEnd = { reason: "complete" };

/** Returns how a machine answers `disks` and `bundle`. `before`: what the machine waits for before it sends. */
export function answeringBytes(before: () => Promise<void> = () => Promise.resolve()): QuestionAnswering {
  return {
    on: new Set(Object.keys(CHUNKS)),
    isInRate: () => true,
    async *answer({ question }) {
      await before();
      yield* CHUNKS[question.name] ?? [];
      return COMPLETE;
    },
  };
}

/** Returns the connection of a new operator who may ask. Unlike the admin secret, the registry checks its credential. */
export async function operatorBy({ url, headers }: WorkerConnection): Promise<WorkerConnection> {
  const body = JSON.stringify({ name: "asker", role: "operator", expiresInSeconds: 86_400 });
  const response = await fetch(`${url}/v1/operators`, { method: "POST", headers, body });
  if (!response.ok) throw new Error(`no operator: ${response.status} ${await response.text()}`);
  const { secret } = (await response.json()) as { secret: string };
  return { url, headers: { authorization: `Bearer ${secret}` } };
}

/** Asks a machine. Returns the lines of the answer, or the seconds to wait if the Worker is busy. Throws otherwise. */
export async function ask(
  { url, headers }: WorkerConnection,
  machine: string,
  name: string,
  signal: AbortSignal | null = null,
): Promise<ReadableStream<Uint8Array> | number> {
  const body = JSON.stringify({ name, parameters: {} } satisfies AskBody);
  const response = await fetch(`${url}/v1/nodes/${machine}/questions`, {
    method: "POST",
    headers,
    body,
    signal,
  });
  if (response.ok && response.body) return response.body;
  const waitSeconds = Number(response.headers.get("retry-after"));
  if ([429, 503].includes(response.status) && waitSeconds > 0) return waitSeconds;
  throw new Error(`${name} to ${machine}: ${response.status} ${await response.text()}`);
}

/** Reads an answer. `pace` is awaited after each chunk. Throws if the answer has another end than a complete one. */
export async function readAnswer(
  body: ReadableStream<Uint8Array>,
  pace: (bytes: number) => Promise<unknown> = () => Promise.resolve(),
): Promise<void> {
  let tail = "";
  for await (const chunk of body) {
    tail = (tail + Buffer.from(chunk).toString()).slice(-TAIL_LENGTH);
    await pace(chunk.length);
  }
  const last = tail.trimEnd().split("\n").at(-1) ?? "";
  const line = answerLineSchema.safeParse(JSON.parse(last));
  if (!line.success || !("end" in line.data) || line.data.end.reason !== "complete")
    throw new Error(`an answer ended: ${last.slice(0, 200)}`);
}

/** The characters that the last line, the end of the answer, has at most. */
const TAIL_LENGTH = 4096;
