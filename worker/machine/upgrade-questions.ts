// Answers a machine that asks whether to upgrade its shim, by the fleet index.
import type { UpgradeAnswer } from "../../shared/protocol/answers.ts";
import { upgradeSchema } from "../../shared/protocol/claims.ts";
import { ROLLOUT_LIMITS } from "../../shared/protocol/limits.ts";
import { success } from "../../shared/result.ts";
import type { Timer } from "../clock.ts";
import { withDeadline } from "../kube/deadline.ts";
import { logFailure } from "../log.ts";
import { ASKED_TOO_OFTEN, type MachineAnswer } from "./answers.ts";
import { requestRate } from "./fresh-requests.ts";
import { parseBody } from "./parse-body.ts";
import type { SignedRequest } from "./pinned-keys.ts";

const ASK_WITHIN_MS = 3000;
/** The token bucket of a machine's upgrade questions. The shim asks once in one or two hours; one index answers all. */
const LIMIT = { atOnce: ROLLOUT_LIMITS.questionsAtOnce, everyMs: 60_000 };
/** The answer if the fleet index does not answer in time, or fails. The machine asks again in one or two hours. */
const NOT_KNOWN = { version: null, why: "not known" } as const;

export class UpgradeQuestions {
  readonly #index: () => { upgrade: (name: string, version: string) => Promise<UpgradeAnswer> };
  readonly #nowMs: () => number;
  readonly #timer: Timer | undefined;
  readonly #mayAsk = requestRate(() => LIMIT);

  constructor(
    index: () => { upgrade: (name: string, version: string) => Promise<UpgradeAnswer> }, // returns the fleet index
    timer: Timer | undefined, // the object's timer
    nowMs: () => number, // typically currentMs
  ) {
    this.#index = index;
    this.#timer = timer;
    this.#nowMs = nowMs;
  }

  /** Returns the fleet index's answer to an upgrade question. Without an answer, the machine must not upgrade. */
  async answer({ name, body }: Pick<SignedRequest, "name" | "body">): Promise<MachineAnswer> {
    const asked = parseBody(upgradeSchema, body);
    if (!asked.ok) return asked;
    if (!this.#mayAsk(this.#nowMs())) return ASKED_TOO_OFTEN;
    const ask = () => this.#index().upgrade(name, asked.value.version);
    try {
      return success(await withDeadline<UpgradeAnswer>(ASK_WITHIN_MS, ask, NOT_KNOWN, this.#timer));
    } catch (error) {
      logFailure({ node: name, message: "no answer about an upgrade", error: String(error) });
      return success<UpgradeAnswer>(NOT_KNOWN);
    }
  }
}
