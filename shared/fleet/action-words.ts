// Describes each action on machines in words, for the command line and the page.

export const BULK_ACTIONS = ["register", "revoke", "forget", "believe"] as const;
export type ActionName = (typeof BULK_ACTIONS)[number];

export interface ActionWords {
  description: string;
  /** The consequence that an operator has to confirm; "" if the action can be repeated or undone. */
  consequence: string;
  /** The message for the operator after the action has succeeded. */
  outcome: string;
}

export const ACTION_WORDS: Readonly<Record<ActionName, ActionWords>> = {
  revoke: {
    description: "Refuse all keys of this name for ever. Its Node stays, and goes NotReady; then see forget.",
    consequence: "its keys are refused for ever, and its Node goes NotReady",
    outcome: "its keys are refused for ever",
  },
  forget: {
    description:
      "Remove lease and Node from the cluster, and forget the machine; its keys are refused for ever.",
    consequence: "its Node and lease are removed from the cluster, and its keys are refused for ever",
    outcome: "removed and forgotten",
  },
  register: {
    description: "Register the Node again with the next report, also a deleted one.",
    consequence: "",
    outcome: "registers with its next report",
  },
  believe: {
    description:
      "Trust the machine again, since it alone has the key now: end `cloned` or `two shims` at once.",
    consequence: "",
    outcome: "trusted with its next report",
  },
};
