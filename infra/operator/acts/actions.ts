// What can be done to a machine, or to many: its words, and the request for one. Asks nobody.
import type { OperatorRequest } from "../client.ts";

export const BULK_ACTIONS = ["register", "revoke", "forget", "believe"] as const;
export type ActionName = (typeof BULK_ACTIONS)[number];

export interface Action {
  description: string;
  /** What the operator is asked to agree to; "": for one machine nobody is asked. */
  consequence: string;
  request: (name: string) => OperatorRequest;
  /** What is said once it is done. */
  outcome: string;
}

export const ACTIONS: Readonly<Record<ActionName, Action>> = {
  revoke: {
    description: "Refuse all keys of this name for ever. Its Node stays, and goes NotReady; then see forget.",
    consequence: "its keys are refused for ever, and its Node goes NotReady",
    request: (name) => postTo(name, "/revoke"),
    outcome: "its keys are refused for ever",
  },
  forget: {
    description:
      "Remove lease and Node from the cluster, and forget the machine; its keys are refused for ever.",
    consequence: "its Node and lease are removed from the cluster, and its keys are refused for ever",
    request: (name) => ({ method: "DELETE", path: nodePath(name), missing: noMachine(name) }),
    outcome: "removed and forgotten",
  },
  register: {
    description: "Have the next report register the Node again, also one that somebody deleted.",
    consequence: "",
    request: (name) => postTo(name, "/register"),
    outcome: "registers with its next report",
  },
  believe: {
    description: "One machine alone has the key again: end `cloned` or `two shims` now, not after an hour.",
    consequence: "",
    request: (name) => postTo(name, "/believe"),
    outcome: "believed with its next report",
  },
};

export const nodePath = (name: string, action = "") => `/v1/nodes/${encodeURIComponent(name)}${action}`;
export const noMachine = (name: string) => `no machine ${name}`;

const postTo = (name: string, action: string): OperatorRequest => ({
  method: "POST",
  path: nodePath(name, action),
  missing: noMachine(name),
});
