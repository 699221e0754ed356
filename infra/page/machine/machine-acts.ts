// Defines the actions on one machine: texts, consequences, why an action makes no sense now, and its request.
import { ACTION_WORDS } from "../../../shared/fleet/action-words.ts";
import type { WholeNode } from "../../../shared/protocol/operator-answers.ts";

export const ACT_NAMES = ["register", "believe", "runtime-none", "runtime-auto", "revoke", "forget"] as const;
export type ActName = (typeof ACT_NAMES)[number];

interface ActWords {
  label: string;
  description: string;
  /** The effects of the action, like `["Node", "stays, and goes NotReady"]`. */
  effects: readonly (readonly [thing: string, becomes: string])[];
  /** A sentence that states whether and how the action can be undone. */
  undo: string;
  /** true for a red button: the action cannot be undone. With `mustTypeName` the operator types the name. */
  isDangerous?: true;
  mustTypeName?: true;
  /** The message after success, which follows the machine's name and a colon. */
  outcome: string;
  /** The request. `path` follows the machine's path. */
  request: {
    method: "POST" | "PATCH" | "DELETE";
    path: "" | "/register" | "/believe" | "/revoke";
    body?: unknown;
  };
  /** Returns the reason why the action makes no sense now, or null. */
  whyNot: (node: ActSituation) => string | null;
}

type ActSituation = Pick<WholeNode, "phase" | "runtime" | "node"> & { key: { isRefused: boolean } };

const REFUSED = "its keys are refused: none of its reports counts";
const unlessRefused =
  (otherwise: ActWords["whyNot"]): ActWords["whyNot"] =>
  (node) =>
    node.key.isRefused ? REFUSED : otherwise(node);

export const MACHINE_ACTS: Readonly<Record<ActName, ActWords>> = {
  register: {
    ...ACTION_WORDS.register,
    label: "Register again",
    effects: [
      ["Node", "is created with the next report where there is none, otherwise compared with the report"],
      ["Lease", "is created again with it"],
      ["Key", "stays as it is"],
      ["Pods", "are not touched"],
    ],
    undo: "A Node that is back can be deleted again, or the machine deleted.",
    request: { method: "POST", path: "/register" },
    whyNot: unlessRefused(({ phase, node }) =>
      phase === null && node === null ? "it has never reported: its first report registers it" : null,
    ),
  },
  believe: {
    ...ACTION_WORDS.believe,
    label: "Trust again",
    effects: [
      ["Reports", "of the next sender that uses the key count again"],
      ["Node", "is updated again from that report on"],
      ["Lease", "is renewed again"],
      ["Key", "stays as it is: if a copy continues to report, the machine becomes cloned again"],
      ["Pods", "are not touched"],
    ],
    undo: "Nothing has to be undone: if several senders still report, the Worker notices it within minutes.",
    request: { method: "POST", path: "/believe" },
    whyNot: unlessRefused(({ phase }) =>
      phase === "cloned" || phase === "two shims" ? null : "only one sender uses its key",
    ),
  },
  "runtime-none": {
    label: "Ignore missing runtime",
    description: "The machine is Ready without a container runtime.",
    effects: [
      ["Node", "a container runtime that is gone does not keep it from being Ready, from the next report on"],
      ["Lease", "stays as it is"],
      ["Key", "stays as it is"],
      ["Pods", "none can run without a runtime; keep them off by a taint"],
    ],
    undo: "“Require its runtime” undoes it. So does enrolling the machine again.",
    outcome: "needs no container runtime from its next report on",
    request: { method: "PATCH", path: "", body: { runtime: "none" } },
    whyNot: unlessRefused(({ runtime }) => (runtime === "none" ? "it is so already" : null)),
  },
  "runtime-auto": {
    label: "Require its runtime",
    description: "A container runtime that the machine has had counts again.",
    effects: [
      ["Node", "is not Ready while a runtime that was there is gone, from the next report on"],
      ["Lease", "stays as it is"],
      ["Key", "stays as it is"],
      ["Pods", "are evicted as from any Node that is not Ready"],
    ],
    undo: "“Ignore missing runtime” undoes it.",
    outcome: "needs its container runtime from its next report on",
    request: { method: "PATCH", path: "", body: { runtime: "auto" } },
    whyNot: unlessRefused(({ runtime }) => (runtime === "auto" ? "it is so already" : null)),
  },
  revoke: {
    ...ACTION_WORDS.revoke,
    label: "Revoke",
    effects: [
      ["Key", "all keys of this name are refused permanently, also on copies"],
      ["Node", "stays as it is, and goes NotReady when its lease has run out"],
      ["Lease", "is not renewed any more"],
      ["Pods", "are evicted by the cluster as from any Node that is NotReady"],
    ],
    undo: "It cannot be undone. To have the machine back: a join token made with --rejoin, and `node-shim join` there.",
    isDangerous: true,
    mustTypeName: true,
    request: { method: "POST", path: "/revoke" },
    whyNot: ({ key }) => (key.isRefused ? "its keys are refused already" : null),
  },
  forget: {
    ...ACTION_WORDS.forget,
    label: "Delete machine",
    effects: [
      ["Node", "is deleted from the cluster, with labels and annotations that other writers have set"],
      ["Lease", "is deleted"],
      ["Key", "all keys of this name are refused permanently"],
      ["Pods", "those that were bound to the Node are removed by the cluster"],
      ["History", "its own is gone; the fleet’s keeps its lines"],
    ],
    undo: "It cannot be undone. The name is free then: the machine enrols again with a new join token and an empty state folder.",
    isDangerous: true,
    mustTypeName: true,
    request: { method: "DELETE", path: "" },
    whyNot: () => null,
  },
};
