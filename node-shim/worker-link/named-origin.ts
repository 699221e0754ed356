// Says for which origin this machine signs, where the Worker refuses that: the Worker names none of its own.
import { failure, type Result } from "../../shared/result.ts";
import type { RequestFault } from "./exchange.ts";

/** The outcome; of a refused origin with a sentence more. `origin`: that of --url. */
export function namingOrigin<Answer>(
  outcome: Result<Answer, RequestFault>,
  origin: string,
): Result<Answer, RequestFault> {
  if (outcome.ok || outcome.error.reason !== "refused") return outcome;
  const { problem } = outcome.error;
  if (problem.reason !== "wrong-origin") return outcome;
  const detail = `${problem.detail} It signs for ${origin}.`;
  return failure({ ...outcome.error, problem: { ...problem, detail } });
}
