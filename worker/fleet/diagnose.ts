// Asks a machine for its diagnosis on behalf of a receiver. The index loads this file only when a receiver wants one.
import type { MachineDiagnosis } from "../../shared/fleet/alert.ts";
import type { AnswerLine } from "../../shared/protocol/asking.ts";
import { NOTIFICATION_LIMITS as LIMIT } from "../../shared/protocol/limits.ts";
import { visible } from "../../shared/protocol/printable.ts";
import type { AnswerEnd } from "../../shared/protocol/questions.ts";
import { askBy, noteAnswer } from "../asking.ts";
import { type Environment, gateway, registry } from "../env.ts";
import type { DiagnosisWish } from "./diagnoses.ts";

const NAME = "diagnosis";
/** The characters of an answer that are read. The worst faults come first. */
const READ_LENGTH = 16 * 1024;

/** Returns the machine's findings, or why there are none. Ends the answer when `signal` aborts. */
export async function diagnose(
  env: Environment,
  { machine: name, receiver }: DiagnosisWish,
  signal: AbortSignal,
): Promise<MachineDiagnosis> {
  const { gateway: number, silentSinceMs, mayBeAsked } = await env.NODES.getByName(name).whereToAsk();
  if (!mayBeAsked) return none("the machine's join token forbids questions");
  if (silentSinceMs !== null) return none("the machine is silent");
  const on = number === null ? null : await gateway(env, number).questionsOf(name);
  if (number === null || on === null) return none(WHY["no socket"]);
  if (!on.includes(NAME)) return none(WHY.off);
  const asker = `receiver ${receiver}`;
  const noted = await registry(env).noteQuestion({ who: asker, target: name, detail: NAME });
  if (!noted.ok) return none("the machine or the receiver has had too many questions in this minute");
  const asking = { name, asked: { question: { name: NAME, parameters: {} }, asker }, entry: noted.value };
  const got = await askBy(gateway(env, number), asking, signal).catch(() => ({ reason: "busy" as const }));
  if (got instanceof ReadableStream) return diagnosisOf(await answerIn(got, signal));
  await noteAnswer(env, name, { entry: noted.value, text: `not asked: ${got.reason}` });
  return none(WHY[got.reason] ?? WHY.busy);
}

const none = (why: string): MachineDiagnosis => ({ findings: [], none: why });

/** The reasons for which a gateway does not ask a machine. */
const WHY: Readonly<Record<string, string>> & { busy: string; off: string; "no socket": string } = {
  "no socket": "the machine has no socket",
  off: "the machine does not answer the question `diagnosis`",
  "too many": "the machine answers other questions now",
  busy: "the Worker is busy",
};

interface ReadAnswer {
  text: string;
  /** null if the rest of the answer was not read. */
  end: AnswerEnd | null;
}

async function answerIn(body: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<ReadAnswer> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const leave = () => void reader.cancel().catch(() => undefined);
  signal.addEventListener("abort", leave);
  if (signal.aborted) leave();
  const read: ReadAnswer = { text: "", end: null };
  let rest = "";
  while (read.end === null && read.text.length + rest.length < READ_LENGTH) {
    const { value } = await reader.read().catch(() => ({ value: undefined }));
    if (!value) break;
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = lines.pop()!;
    for (const line of lines) if (line !== "") take(read, JSON.parse(line) as AnswerLine);
  }
  leave();
  return read;
}

function take(read: ReadAnswer, line: AnswerLine): void {
  if ("text" in line) read.text += line.text;
  else if ("end" in line) read.end = line.end;
}

function diagnosisOf({ text, end }: ReadAnswer): MachineDiagnosis {
  if (end?.reason === "refused")
    return none(
      end.challenge === undefined
        ? "the machine refused the question"
        : "the machine answers only operators whose keys it has pinned",
    );
  const findings = findingsIn(text);
  if (findings.length > 0) return { findings, none: "" };
  return none(end?.reason === "complete" ? "the machine finds no fault" : "the machine's answer broke off");
}

const encoder = new TextEncoder();

/** Returns the first lines of a diagnosis that are findings, within the limits, with visible control characters. */
export function findingsIn(text: string): string[] {
  const findings: string[] = [];
  let left: number = LIMIT.diagnosisBytes;
  const lines = text.split("\n").filter((line) => /^(fail|warn) {2}/.test(line));
  for (const line of lines.slice(0, LIMIT.findings)) {
    const shown = startOf(visible(line), left);
    if (shown === "") break;
    left -= encoder.encode(shown).length;
    findings.push(shown);
  }
  return findings;
}

/** Returns the text, or its beginning of at most `bytes` bytes that ends with `…`. */
function startOf(text: string, bytes: number): string {
  const all = encoder.encode(text.toWellFormed());
  if (all.length <= bytes) return text.toWellFormed();
  const { length } = encoder.encode("…");
  if (bytes <= length) return "";
  // The decoder leaves out a last character that does not fit as a whole.
  return `${new TextDecoder().decode(all.subarray(0, bytes - length), { stream: true })}…`;
}
