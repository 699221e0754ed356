// Collects findings while hostile machines act. The findings come from the Worker's answers, and from each hostile
// machine's Node that the Worker has written.
import type { Node } from "../../../../shared/kubernetes/types.ts";
import { beyondGrant } from "./beyond-grant.ts";
import { grantOf } from "./grants.ts";
import type { Said } from "./hostile-thread.ts";
import { type Marks, marksOnNodes } from "./marks.ts";
import { HONEST, isHostile, KUBELETS, numberOfHostile, PATIENT } from "./names.ts";

export interface Findings {
  marks: Marks;
  /** The last seen Nodes of hostile machines, by name. */
  nodes: Map<string, Node>;
  /** The parts of Nodes beyond their grants, and the lost marks; each finding once. */
  beyond: Set<string>;
  lost: Set<string>;
  kinds: Map<string, Map<string, number>>;
  failures: string[];
  overLimits: string[];
  acts: () => number;
  note: (said: Said) => void;
  /** Receives a Node as the apiserver has it, or had it a moment ago. */
  onNode: (node: Node) => void;
}

const DEPLOYMENT = "rollcall";

export function findings(): Findings {
  const marks = marksOnNodes();
  const nodes = new Map<string, Node>();
  const beyond = new Set<string>();
  const lost = new Set<string>();
  const kinds = new Map<string, Map<string, number>>();
  const failures: string[] = [];
  const overLimits: string[] = [];
  let acts = 0;
  return {
    marks,
    nodes,
    beyond,
    lost,
    kinds,
    failures,
    overLimits,
    acts: () => acts,
    note({ machine, index, outcome }) {
      const { kind, answer, fault, text } = outcome;
      acts++;
      // Answers are grouped by the kind of act without its limit, because there are a hundred limits.
      const [family = kind] = kind.split(":");
      const answers = kinds.get(family) ?? new Map<string, number>();
      kinds.set(family, answers.set(answer, (answers.get(answer) ?? 0) + 1));
      if (fault === undefined) return;
      const where = `${fault}: ${machine}, act ${index}, ${kind}: ${text}`;
      (fault === "over a limit and taken" ? overLimits : failures).push(where);
    },
    onNode(node) {
      const { name = "" } = node.metadata ?? {};
      if (!isHostile(name)) return;
      nodes.set(name, node);
      const judged = {
        granted: grantOf(numberOfHostile(name)),
        deployment: DEPLOYMENT,
        others: marks.of(name),
        otherNodes: [...HONEST, ...KUBELETS, PATIENT],
      };
      for (const what of beyondGrant(node, judged)) beyond.add(`${name} has ${what}`);
      for (const { kind, key, value } of marks.lostFrom(node))
        lost.add(`${name} has lost the ${kind} ${key} ${value}, which somebody else had set`);
    },
  };
}
