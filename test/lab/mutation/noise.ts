// Finds places that are not worth a mutant: code that only logs, which no test compares word for word.
import type { Ignorer } from "@stryker-mutator/api/ignore";

/** The part of Babel's syntax tree that this file uses. */
interface Syntax {
  type: string;
  expression?: Syntax;
  callee?: Syntax;
  object?: Syntax;
  property?: Syntax;
  name?: string;
}

function isLog(called: Syntax | undefined): boolean {
  if (called?.type === "MemberExpression") return called.object?.name === "console" || isLog(called.property);
  if (called?.type === "CallExpression") return called.callee?.name === "machineLog";
  return /^log(Note|Failure|ClusterLine)?$/.test(called?.name ?? "");
}

/**
 * Ignores statements that only log: `log(…)`, `context.log(…)`, `console.error(…)`, `machineLog(…)(…)`,
 * `logFailure(…)`.
 */
export const noise: Ignorer = {
  shouldIgnore(path) {
    const { node } = path as { node: Syntax };
    const call = node.type === "ExpressionStatement" ? node.expression : node;
    return call?.type === "CallExpression" && isLog(call.callee) ? "it ends in a log" : undefined;
  },
};
