// A machine's request whether to upgrade its shim: parsed here, decided by the fleet index, which knows the rollout.
import { upgradeSchema } from "../../shared/protocol/claims.ts";
import type { UpgradeAnswer } from "../../shared/protocol/answers.ts";
import { success } from "../../shared/result.ts";
import { withDeadline } from "../kube/deadline.ts";
import type { MachineAnswer } from "./answers.ts";
import { parseBody } from "./parse-body.ts";
import type { SignedRequest } from "./pinned-keys.ts";

const ASK_WITHIN_MS = 3000;
/** The machine asks again in an hour or two. */
const NOT_KNOWN = { version: null, why: "not known" } as const;

/** An index that fails or does not answer gives nobody anything. */
export async function askForUpgrade(
  { name, body }: Pick<SignedRequest, "name" | "body">,
  index: { upgrade: (name: string, version: string) => Promise<UpgradeAnswer> }, // the fleet index
): Promise<MachineAnswer> {
  const asked = parseBody(upgradeSchema, body);
  if (!asked.ok) return asked;
  const ask = () => index.upgrade(name, asked.value.version);
  try {
    return success(await withDeadline<UpgradeAnswer>(ASK_WITHIN_MS, ask, NOT_KNOWN));
  } catch (error) {
    console.error(
      JSON.stringify({ node: name, message: "no answer about an upgrade", error: String(error) }),
    );
    return success<UpgradeAnswer>(NOT_KNOWN);
  }
}
