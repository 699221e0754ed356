// Answers "what is wrong?": runs all checks of causes.ts together, and yields the faults that they find, the worst first.
import type { ParametersOf } from "../../shared/protocol/question.ts";
import { abortAfter } from "../base/clock.ts";
import { faultOf } from "../base/fault.ts";
import { type Finding, findingsLines } from "../doctor/finding.ts";
import { CAUSES, type FindCauses } from "./causes.ts";
import type { Asking, Source } from "./source.ts";

/** The time limit of a check: an answer follows within five seconds, whatever hangs. */
const CHECK_MS = 4500;

/** What a check found; a text if it could not be made. */
type Found = { name: string; findings: Finding[] | string };

export const diagnosis: Source<ParametersOf<"diagnosis">> = async function* (_, asking) {
  const all = await Promise.all(
    Object.entries(CAUSES).map(async ([name, find]): Promise<Found> => {
      return { name, findings: await inTime(find, asking) };
    }),
  );
  const findings = all.flatMap((found) => (typeof found.findings === "string" ? [] : found.findings));
  const worstFirst = ["fail", "warn"].flatMap((level) => findings.filter((each) => each.level === level));
  if (worstFirst.length > 0) yield* findingsLines(worstFirst);
  const sound = all.filter((found) => found.findings.length === 0).map(({ name }) => name);
  if (sound.length > 0) yield `no fault found: ${sound.join(", ")}`;
  for (const found of all)
    if (typeof found.findings === "string") yield `not checked: ${found.name}: ${found.findings}`;
};

/** Returns what the check found, or why it found nothing out in time. */
async function inTime(find: FindCauses, asking: Asking): Promise<Finding[] | string> {
  const signal = AbortSignal.any([asking.signal, abortAfter(CHECK_MS)]);
  const late = new Promise<string>((resolve) => {
    const giveUp = () => resolve(`no answer within ${CHECK_MS / 1000} s`);
    signal.addEventListener("abort", giveUp);
    if (signal.aborted) giveUp();
  });
  try {
    return await Promise.race([find({ ...asking, signal }), late]);
  } catch (error) {
    return faultOf(error);
  }
}
