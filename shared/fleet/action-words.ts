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
    description:
      "Refuse all keys of this name for ever. The Node stays, and becomes NotReady; to remove the Node, use forget.",
    consequence: "its keys are refused for ever, and its Node goes NotReady",
    outcome: "its keys are refused for ever",
  },
  forget: {
    description: "Remove the machine's lease, Node and data. The Worker refuses its keys for ever.",
    consequence: "its Node and lease are removed from the cluster, and its keys are refused for ever",
    outcome: "removed and forgotten",
  },
  register: {
    description: "Make the machine's next report register its Node again, even after the Node was deleted.",
    consequence: "",
    outcome: "registers with its next report",
  },
  believe: {
    description:
      "End the phase `cloned` or `two shims` at once, because only one machine uses the key again.",
    consequence: "",
    outcome: "trusted with its next report",
  },
};
