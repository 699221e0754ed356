// Prints the faults that GitHub's own parser finds in workflows and actions, as JSON: `node workflow-faults.cjs FILE...`.
// The program is bundled before it runs: the parser imports JSON in a way that bundlers accept and Node.js does not.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { NoOperationTraceWriter, parseWorkflow } from "@actions/workflow-parser";
import { parseAction } from "@actions/workflow-parser/actions/index";

const faults = process.argv.slice(2).flatMap((name) => {
  const content = readFileSync(name, "utf8");
  const parse = basename(name) === "action.yml" ? parseAction : parseWorkflow;
  const { context } = parse({ name, content }, new NoOperationTraceWriter());
  return context.errors.getErrors().map(({ message }) => `${name}: ${message}`);
});
process.stdout.write(JSON.stringify(faults));
