// Prints the faults that GitHub's own parser finds in workflows, as JSON: `node workflow-faults.cjs FILE...`. The
// program is bundled before it runs: the parser imports JSON in a way that bundlers accept and Node.js does not.
import { readFileSync } from "node:fs";
import { NoOperationTraceWriter, parseWorkflow } from "@actions/workflow-parser";

const faults = process.argv.slice(2).flatMap((name) => {
  const content = readFileSync(name, "utf8");
  const { context } = parseWorkflow({ name, content }, new NoOperationTraceWriter());
  return context.errors.getErrors().map(({ message }) => `${name}: ${message}`);
});
process.stdout.write(JSON.stringify(faults));
