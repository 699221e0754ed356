// Asks hostile machines questions, and judges what the Worker passes on: nothing that another machine wrote, nothing twice,
// and an end of each answer in time.
import type { WorkerConnection } from "../../../../infra/operator/client.ts";
import { answerLineSchema, answerSeconds } from "../../../../shared/protocol/asking.ts";
import { ASKING_LIMITS } from "../../../../shared/protocol/limits.ts";
import { NAMED } from "./answers.ts";

export interface Asker {
  /** Asks a machine. Resolves once the Worker has taken or refused the question. Returns true if it has taken it. */
  ask: (name: string) => Promise<boolean>;
  /** Ends the answers that still come. Those that had to end before are faults. */
  end: () => void;
  /** The number of answers that have ended, and of those that were complete. */
  counts: () => { ended: number; complete: number };
  faults: readonly string[];
}

const [QUESTION = ""] = NAMED.split(",");
/** The longest answer: the machine takes the question, and ends its answer, each in its time. */
const WITHIN_MS =
  1000 *
  (answerSeconds(QUESTION) + ASKING_LIMITS.reportWithinSeconds + 2 * ASKING_LIMITS.recheckSeconds + 10);
/** Each byte of an answer may be escaped in JSON. */
const MOST_BYTES = 2 * ASKING_LIMITS.streamBytes;

export function asker({ url, headers }: WorkerConnection): Asker {
  const faults: string[] = [];
  const open = new Map<AbortController, { name: string; sinceMs: number }>();
  const counts = { ended: 0, complete: 0 };

  async function read(name: string, body: ReadableStream<Uint8Array>, stop: AbortController): Promise<void> {
    try {
      const text = await textOf(body);
      const fault = faultOfAnswer(name, text);
      if (fault !== null) faults.push(`the answer of ${name}: ${fault}`);
      counts.ended++;
      if (text.trimEnd().endsWith('{"end":{"reason":"complete"}}')) counts.complete++;
    } catch (error) {
      if (!stop.signal.aborted) faults.push(`the answer of ${name} broke off: ${String(error)}`);
    } finally {
      open.delete(stop);
    }
  }

  return {
    faults,
    counts: () => counts,
    async ask(name) {
      const stop = new AbortController();
      const body = JSON.stringify({ name: QUESTION, parameters: {} });
      const init = { method: "POST", headers, body, signal: stop.signal };
      const response = await fetch(`${url}/v1/nodes/${name}/questions`, init).catch(
        (error: unknown) => error,
      );
      if (!(response instanceof Response)) {
        faults.push(`a question to ${name}: ${String(response)}`);
        return false;
      }
      if (response.ok && response.body) {
        open.set(stop, { name, sinceMs: performance.now() });
        void read(name, response.body, stop);
        return true;
      }
      const text = await response.text();
      const { status } = response;
      // A busy Worker may refuse a question.
      if (status >= 500 && !(status === 503 && text.includes('"busy"')))
        faults.push(`a question to ${name}: HTTP ${status} ${text}`);
      return false;
    },
    end() {
      for (const [stop, { name, sinceMs }] of open) {
        const tookMs = performance.now() - sinceMs;
        if (tookMs > WITHIN_MS)
          faults.push(`the answer of ${name} has not ended in ${Math.round(tookMs)} ms`);
        stop.abort();
      }
    },
  };
}

async function textOf(body: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (const chunk of body) {
    text += Buffer.from(chunk).toString();
    if (text.length > MOST_BYTES) break;
  }
  return text;
}

/** Returns the fault of an answer that has ended; null if an asker may get it. */
export function faultOfAnswer(name: string, text: string): string | null {
  if (text.length > MOST_BYTES) return `more than ${MOST_BYTES} bytes`;
  const lines = text.split("\n").filter((line) => line !== "");
  const seen = new Set<string>();
  for (const [index, line] of lines.entries()) {
    const parsed = answerLineSchema.safeParse(JSON.parse(line));
    if (!parsed.success) return `no line of an answer: ${line.slice(0, 200)}`;
    if ("end" in parsed.data) {
      if (index < lines.length - 1) return "more after its end";
    } else if (seen.has(line)) return `twice: ${line.slice(0, 200)}`;
    else if (!("text" in parsed.data) || !parsed.data.text.startsWith(`${name} `))
      return `not its own: ${line.slice(0, 200)}`;
    seen.add(line);
  }
  return lines.at(-1)?.startsWith('{"end":') ? null : "no end";
}
