// Answers a machine's question whether to upgrade its shim. The fleet index decides, because it has the rollout.
import { upgradeSchema } from "../../shared/protocol/claims.ts";
import type { UpgradeAnswer } from "../../shared/protocol/answers.ts";
import { ROLLOUT_LIMITS } from "../../shared/protocol/limits.ts";
import { success } from "../../shared/result.ts";
import { withDeadline } from "../kube/deadline.ts";
import { ASKED_TOO_OFTEN, type MachineAnswer } from "./answers.ts";
import { parseBody } from "./parse-body.ts";
import type { SignedRequest } from "./pinned-keys.ts";
import { requestRate } from "./fresh-requests.ts";
import { logFailure } from "../log.ts";

const ASK_WITHIN_MS = 3000;
/** Few, because there is one index for all machines. The machine's timer asks once in one or two hours. */
const LIMIT = { atOnce: ROLLOUT_LIMITS.questionsAtOnce, perSecond: 1 / 60 };
/** The answer of an index that fails. The machine asks again in one or two hours. */
const NOT_KNOWN = { version: null, why: "not known" } as const;

export class UpgradeQuestions {
  readonly #index: () => { upgrade: (name: string, version: string) => Promise<UpgradeAnswer> };
  readonly #nowMs: () => number;
  readonly #mayAsk = requestRate(LIMIT);

  constructor(
    index: () => { upgrade: (name: string, version: string) => Promise<UpgradeAnswer> }, // the fleet index
    nowMs: () => number, // typically currentMs
  ) {
    this.#index = index;
    this.#nowMs = nowMs;
  }

  /** Without an answer of the index there is no upgrade. */
  async answer({ name, body }: Pick<SignedRequest, "name" | "body">): Promise<MachineAnswer> {
    const asked = parseBody(upgradeSchema, body);
    if (!asked.ok) return asked;
    if (!this.#mayAsk(this.#nowMs())) return ASKED_TOO_OFTEN;
    const ask = () => this.#index().upgrade(name, asked.value.version);
    try {
      return success(await withDeadline<UpgradeAnswer>(ASK_WITHIN_MS, ask, NOT_KNOWN));
    } catch (error) {
      logFailure({ node: name, message: "no answer about an upgrade", error: String(error) });
      return success<UpgradeAnswer>(NOT_KNOWN);
    }
  }
}
