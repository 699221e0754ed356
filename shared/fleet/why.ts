// Why a machine is not ready: one line for operators, who can do something about it. Decides nothing.
import type { Phase } from "../protocol/answers.ts";
import type { FleetState } from "./state.ts";

export interface NotReady {
  state: FleetState;
  phase: Phase | null;
  /** Has it ever reported with its pin? */
  isUsed: boolean;
  /** What the condition Ready says, where it is not True. */
  notReady: string | undefined;
}

const OF_PHASE: Partial<Record<Phase, string>> = {
  registering: "its Node is not registered yet",
  "setup failed": "its shim cannot start: its history says why",
  "facts refused": "its facts are refused: `node-shim status` on it says which",
  "waiting for Node": "it may not create its Node (registerNode is false): create the Node",
  cloned:
    "several machines report with its key: give each copy a state folder and a token of its own, then believe it",
  "two shims": "two shims report from it: stop one of them",
  "name taken":
    "somebody else has or writes the Node of this name: remove that one, or give this machine another name",
  "node deleted": "somebody has deleted its Node: register it again, or forget the machine",
  "apiserver unreachable": "the apiserver does not answer the Worker: look at what is between them",
  "apiserver refuses": "the apiserver refuses what the Worker asks: GET /readyz and the Worker's log say why",
  "apiserver not configured": "the Worker has no KUBE_URL",
};

/** "": it is ready, or nothing is known. */
export function whyNotReady({ state, phase, isUsed, notReady }: NotReady): string {
  switch (state) {
    case "revoked":
      return "its keys are revoked: forget it, or let it enrol with a new token";
    case "silent":
      if (!isUsed) return "it has enrolled and never reported: start its shim";
      return `no report: look at its power, its network and its shim${notReady ? `; it said last: ${notReady}` : ""}`;
    case "ready":
    case "pending":
      return "";
    default:
      if (!isUsed) return "it has enrolled and not reported yet";
      return (phase && OF_PHASE[phase]) ?? notReady ?? "";
  }
}
